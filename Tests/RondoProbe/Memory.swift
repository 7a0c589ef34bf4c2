import CTests
import Glibc
import Rondo
import RondoTestSupport
import RondoTesting

/// A million of each thing that comes and goes, or a tenth of them: the pages they took, and those they left.
///
/// - Parameter kind: `fired-timers`, `cancelled-timers`, `fired-timeouts`, `discarded-timeouts`, `blocks` or `jobs`.
func probeMemory(_ kind: String) {
  let count = isWhole ? 1_000_000 : 100_000
  withVirtualLoop { virtual in
    let loop = virtual.loop
    // What lives on stands before the others and after them.
    let first = loop.makeTimeout(after: .seconds(7_200)) {}
    loop.add(Loop.Timer(after: .seconds(7_200)) { _ in })
    loop.run(for: .zero)
    let before = pages()
    let most = fill(kind, count, virtual)
    let last = loop.makeTimeout(after: .seconds(7_200)) {}
    // A turn of ordinary size comes after it.
    loop.perform {}
    virtual.advance(by: .seconds(1))
    trim_allocator()
    report("taken", most - before)
    report("left", pages() - before)
    report("callouts", loop.statistics.timerCallouts + loop.statistics.blockCallouts)
    for timeout in [first, last] { precondition(loop.discard(timeout), "What lives on is gone.") }
  }
}

/// Has the loop take the things and lose them.
///
/// - Returns: The pages when it had them all.
private func fill(_ kind: String, _ count: Int, _ virtual: VirtualLoop) -> Int {
  let loop = virtual.loop
  var most = 0
  switch kind {
  case "fired-timers":
    for number in 0..<count { loop.add(Loop.Timer(after: .microseconds(number / 100)) { _ in }) }
    most = pages()
    virtual.advance(by: .seconds(3_600))
  case "cancelled-timers":
    let timers = (0..<count).map { _ in Loop.Timer(after: .seconds(3_600)) { _ in } }
    for timer in timers { loop.add(timer) }
    most = pages()
    for timer in timers { timer.invalidate() }
  case "fired-timeouts":
    let timeouts = (0..<count).map { loop.makeTimeout(after: .microseconds($0 / 100)) {} }
    most = pages()
    virtual.advance(by: .seconds(3_600))
    for timeout in timeouts { loop.discard(timeout) }
  case "discarded-timeouts":
    let timeouts = (0..<count).map { _ in loop.makeTimeout(after: .seconds(3_600)) {} }
    most = pages()
    for timeout in timeouts { loop.discard(timeout) }
  case "blocks":
    for _ in 0..<count { loop.perform {} }
    most = pages()
    virtual.advance(by: .seconds(1))
  case "jobs":
    for _ in 0..<count { Task(executorPreference: loop) {} }
    most = pages()
    virtual.advance(by: .seconds(1))
  default: fatalError("No such kind of things: \(kind).")
  }
  return most
}

/// The pages of this process that are in memory, the libraries' left out.
private func pages() -> Int {
  var line = [CChar](repeating: 0, count: 128)
  let file = unsafe fopen("/proc/self/statm", "r")
  defer { unsafe fclose(file) }
  unsafe fgets(&line, 128, file)
  let words = line.split(separator: 32).map { String(decoding: $0.map(UInt8.init(bitPattern:)), as: UTF8.self) }
  return Int(words[1])! - Int(words[2])!
}
