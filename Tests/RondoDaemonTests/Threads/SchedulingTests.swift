import Glibc
import Rondo
import RondoDaemon
import RondoSockets
import Testing

/// How a loop's thread is scheduled.
@Suite struct SchedulingTests {
  /// Runs `body` with a loop's thread that lives, and ends it.
  private func withThread(_ body: (LoopThread) throws -> Void) throws {
    let thread = try LoopThread(name: "scheduled")
    defer { thread.stop() }
    try body(thread)
  }

  @Test func `a thread has the slice that it asks for, and the kernel's own again`() throws {
    try withThread { thread in
      let before = try thread.loop.scheduling()
      do throws(SchedulingError) {
        try thread.loop.setScheduling(.responsive)
        #expect(try thread.loop.scheduling().slice == .microseconds(100))
        try thread.loop.setScheduling(.competing())
        #expect(try thread.loop.scheduling() == before)
      } catch {
        // A kernel before Linux 6.12.
        #expect(error == .noSlices)
        #expect(try thread.loop.scheduling() == before && before.slice == nil)
      }
    }
  }

  @Test func `a nice level is the loop's thread's alone`() throws {
    try withThread { thread in
      let own = getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0)
      try thread.loop.setScheduling(.competing(nice: 7))
      #expect(try thread.loop.scheduling().nice == 7)
      #expect(try thread.sync { getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) } == 7)
      #expect(getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) == own)
      // Another request keeps it: to take a lower one would need a privilege.
      try thread.loop.setScheduling(.competing())
      #expect(try thread.loop.scheduling().nice == 7)
    }
  }

  @Test func `real time is had, or refused with what it takes`() throws {
    try withThread { thread in
      do throws(SchedulingError) {
        try thread.loop.setScheduling(.realTime(priority: 3))
        #expect(try thread.loop.scheduling() == .realTime(priority: 3))
      } catch {
        #expect(error == .notPermitted(.realTime(priority: 3)))
        #expect("\(error)".contains("RLIMIT_RTPRIO"))
      }
    }
  }

  @Test func `a group's threads are all scheduled, and the calling thread by itself`() throws {
    let group = try LoopGroup(threads: 2)
    defer { group.stop() }
    for loop in group.loops { try loop.setScheduling(.competing(nice: 5)) }
    for loop in group.loops { #expect(try loop.scheduling().nice == 5) }
    try withThread { thread in
      let nice = try thread.sync {
        try Loop.current.setScheduling(.competing(nice: 9))
        return try Loop.current.scheduling().nice
      }
      #expect(nice == 9)
    }
  }

  @Test func `a loop whose thread has ended is refused`() throws {
    let thread = try LoopThread()
    let loop = thread.loop
    thread.stop()
    #expect(throws: SchedulingError.noThread) { try loop.setScheduling(.responsive) }
  }

  @Test func `a slice that the kernel would round is a programmer's error`() async {
    await #expect(processExitsWith: .failure) { _ = Scheduling.competing(slice: .microseconds(50)) }
    await #expect(processExitsWith: .failure) { _ = Scheduling.competing(nice: 20) }
    await #expect(processExitsWith: .failure) { _ = Scheduling.realTime(priority: 0) }
  }
}
