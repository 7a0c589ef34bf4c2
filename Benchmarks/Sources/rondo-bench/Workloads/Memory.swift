import CBench
import Foundation

/// What an idle item costs: bytes of the allocator and descriptors, over a thousand of a kind.
///
/// In a process of its own, by mallinfo2(3) and /proc/self/fd, between before the making and after a turn with them.
/// Memory in the kernel is not seen. What the handler of an item keeps is: a function and one pointer, for all subjects;
/// a closure that captures one object and nothing else is those two words. What a thread has in its cache of free memory
/// counts as held.
struct Memory: Workload {
  let name = "memory"
  let summary = "bytes and descriptors of an idle loop, descriptor source, timer, source, observer"
  let parts: [String] = ["loop", "descriptor", "timer", "source", "observer"]

  func plan(_ effort: Effort) -> Plan {
    Plan(rounds: 1, discarded: 0, size: 1000, placement: .apart)
  }

  func round(of subject: any Subject, size: Int) throws(Refusal) -> Round {
    // The first loop of a process makes what all share.
    _ = try LoopThread.run(subject) { handle throws(Refusal) in
      handle.loop.poll()
      return true
    }
    let result = Box<[Part]>([])
    let thread = PinnedThread(on: Processors().loop) { () throws(Refusal) in
      let before = Footprint()
      let handle = LoopHandle(try subject.openLoop(posts: false))
      guard handle.loop.isLoop else { throw .cannot("is no loop") }
      handle.loop.poll()
      let opened =
        handle.loop.isWaiting
        ? Footprint().parts(since: before, "loop", of: 1)
        : Part(name: "loop", refusal: .cannot("has no wait of its own"))
      let parts = try [opened] + items(of: handle, size)
      handle.loop.close()
      result.value = parts
    }
    try thread.join(within: 30)
    return Round(result.value)
  }

  /// Everything made stays until the end: what is freed between would be reused.
  private func items(of handle: LoopHandle, _ size: Int) throws(Refusal) -> [Part] {
    let loop = handle.loop
    let idle = Meter(target: 0, stopping: handle)
    let observed = Meter(target: 0, stopping: handle)
    let (call, observedCall) = (idle.call, observed.call)
    let eventfds = (0..<size).map { _ in bench_eventfd(0) }
    defer { for descriptor in eventfds { close(descriptor) } }
    var members: [any Member] = []
    members.reserveCapacity(3 * size)
    var banks: [any ShotBank] = []
    banks.reserveCapacity(1)
    var parts: [Part] = []

    func measure(_ name: String, _ make: () throws(Refusal) -> Void) {
      let before = Footprint()
      do throws(Refusal) {
        try make()
        loop.poll()
        parts.append(Footprint().parts(since: before, name, of: size))
      } catch {
        parts.append(Part(name: name, refusal: error))
      }
    }
    measure("descriptor") { () throws(Refusal) in
      for descriptor in eventfds { members.append(try loop.addWatch(descriptor, call)) }
    }
    let due = bench_now() + 3_600_000_000_000
    let dues = (0..<size).map { due + Int64($0) * 1_000_000 }
    measure("timer") { () throws(Refusal) in banks.append(try loop.addShots(dues, call)) }
    measure("source") { () throws(Refusal) in
      guard loop.hasSources else { throw .cannot("has no sources: it is woken by blocks") }
      for _ in 0..<size { members.append(try loop.addWake(call)) }
    }
    measure("observer") { () throws(Refusal) in
      for _ in 0..<size { members.append(try loop.addObserver(observedCall)) }
    }
    for member in members { member.remove() }
    for index in banks.indices {
      banks[index].cancel(Array(0..<size))
      banks[index].free()
    }
    // Observers are called in the turn that takes them in.
    try idle.check(0)
    withExtendedLifetime(observed) {}
    return parts
  }
}

/// What the process holds at a moment.
private struct Footprint {
  private let bytes = Int(bench_bytes_in_use())
  private let descriptors = Int(bench_descriptor_count())

  func parts(since before: Footprint, _ name: String, of count: Int) -> Part {
    Part(
      name: name, unit: "B", value: Double(bytes - before.bytes) / Double(count),
      gauges: [
        Gauge(metric: "descriptors", unit: "", value: Double(descriptors - before.descriptors) / Double(count))
      ])
  }
}
