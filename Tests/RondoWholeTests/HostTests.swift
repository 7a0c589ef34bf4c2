import RondoTestSupport
import Testing

/// The main loop as the guest of a foreign one: everything is served, and nothing is polled.
@Suite(.serialized, .offThePool) struct HostTests {
  @Test func `a guest of a raw epoll loop is served, and idle makes no system call`() throws {
    let (findings, calls) = try Probe.trace("epoll-host")
    expectServed(findings)
    // The guest arms its sleep and the host begins it; three seconds later the host is told, and the guest asks by what.
    #expect(
      calls.counts(from: "idle begins", to: "idle ends") == ["timerfd_settime": 1, "epoll_wait": 2])
  }

  @Test func `a guest of a Dispatch source on the main queue is served`() throws {
    expectServed(try Probe.findings("dispatch-host"))
  }

  private func expectServed(_ findings: [String: String]) {
    #expect(findings["timers"] == "20")
    #expect(findings["early"] == "0")
    #expect(findings["actor"] == "1000")
    #expect(findings["main-actor"] == "200")
    #expect(findings["posts"] == "100002")
    // The turn in which the timer fires, and another if its task goes on in the next.
    #expect(["1", "2"].contains(findings["idle-turns"]))
  }
}
