// A permanent thread: work handed over, results brought back, a timer of its own, and an end that loses nothing.
import Rondo
import RondoFoundation

/// A log that only its own thread touches, so it needs no lock.
final class Journal: @unchecked Sendable {
  private let thread: LoopThread
  private var lines: [String] = []

  init() throws {
    thread = try LoopThread(name: "journal")
  }

  /// From any thread, and without waiting.
  func write(_ line: String) {
    thread.execute { self.lines.append(line) }
  }

  /// How many lines there are, asked of the thread.
  func count() throws -> Int {
    try thread.sync { self.lines.count }
  }

  /// Calls `report` on the thread every so often.
  func report(every interval: TimeInterval, _ report: @escaping @Sendable (Int) -> Void) {
    thread.runLoop.add(
      Timer(timeInterval: interval, repeats: true) { _ in report(self.lines.count) }, forMode: .default)
  }

  /// Writes what was given to it, and ends the thread.
  func close() -> [String] {
    thread.stop(.drain)
    return lines
  }
}

let journal = try Journal()
let reports = DispatchSemaphore(value: 0)
journal.report(every: 0.01) { _ in reports.signal() }

let writers = (1...3).map { writer in
  Thread {
    for line in 1...100 { journal.write("writer \(writer), line \(line)") }
    reports.signal()
  }
}
for writer in writers { writer.start() }
// Three writers, and at least one report of the thread's own timer.
for _ in 1...4 { reports.wait() }
while !writers.allSatisfy(\.isFinished) { Thread.sleep(forTimeInterval: 0.001) }

print("lines so far: \(try journal.count())")
journal.write("the last line")
let lines = journal.close()
print("lines at the end: \(lines.count)")
print("each writer's lines in order: \((1...3).allSatisfy { inOrder(lines, of: $0) })")
journal.write("too late")
do {
  print("a call afterwards: \(try journal.count())")
} catch {
  print("a call afterwards: \(error)")
}

func inOrder(_ lines: [String], of writer: Int) -> Bool {
  lines.filter { $0.hasPrefix("writer \(writer),") } == (1...100).map { "writer \(writer), line \($0)" }
}
