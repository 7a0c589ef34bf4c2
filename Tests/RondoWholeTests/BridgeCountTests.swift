import RondoTestSupport
import Testing

/// What sleeping in Foundation's wait costs, and that nothing happens meanwhile.
@Suite(.serialized, .offThePool) struct BridgeCountTests {
  @Test(arguments: [false, true])
  func `a run with a sleep in Foundation's wait, however long, is seven system calls, and nine on main`(
    onMain: Bool
  ) throws {
    let calls = try Probe.traceBridge(["idle"] + (onMain ? ["main"] : []))
    var counts = try #require(calls.counts(from: "Rondo sleeps", to: "Rondo ends"))
    // Foundation asks which thread it is on.
    counts["gettid"] = nil
    counts["getpid"] = nil
    // One ppoll(2) is the look that ends the run of Foundation's around the run.
    var expected = ["timerfd_settime": 1, "poll": 1, "ppoll": 2, "epoll_wait": 2, "read": 1]
    if onMain { expected["epoll_ctl"] = 2 }
    #expect(counts == expected)
  }

  @Test(arguments: [false, true])
  func `Foundation's own run sleeps until its date, and Rondo with it`(onMain: Bool) throws {
    let calls = try Probe.traceBridge(["idle"] + (onMain ? ["main"] : []))
    let counts = try #require(calls.counts(from: "Foundation sleeps", to: "Foundation ends"))
    #expect(counts["ppoll", default: 0] <= 3)
    #expect(counts["epoll_wait", default: 0] <= 6)
  }
}
