import CBench
import Testing

@testable import rondo_bench

/// The limits of a precise timer: what they do, and that no report takes them for run loops.
@Suite(.serialized) struct LimitTests {
  private func subject(_ name: String) throws -> any Subject {
    try #require(Subjects.all.first { $0.name == name })
  }

  @Test func `Bare kernel calls are limits, other loops are peers, and Rondo's variants are neither`() {
    let names = Subjects.all.map(\.name)
    #expect(names.filter(Subjects.isLimit) == ["raw", "raw.fifo", "raw.spin"])
    #expect(names.filter(Subjects.isPeer).contains("libevent"))
    #expect(!Subjects.isPeer("rondo.precise") && !Subjects.isLimit("rondo.precise") && !Subjects.isLimit("rawhide"))
  }

  @Test func `No limit is ahead of Rondo, neither in the table, nor in the summary, nor among the best`() {
    let report = Report.sample([
      ("timer.lateness.a", "raw.spin", "p50", 1), ("timer.lateness.a", "raw.fifo", "p50", 2),
      ("timer.lateness.a", "libuv", "p50", 8), ("timer.lateness.a", "rondo", "p50", 4),
    ])
    #expect(Scoreboard.ahead(in: report, "timer.lateness.a").isEmpty)
    #expect(Markdown(report: report).summary.contains("0.50 × libuv"))
    #expect(Bar.best("timer.lateness.a", "best").value(in: report) == 0.5)
  }

  @Test func `A limit with a timer alone is no loop`() throws {
    for name in ["raw.fifo", "raw.spin"] {
      #expect(throws: Refusal.cannot("is no loop")) { try subject(name).openLoop(posts: false) }
    }
  }

  @Test func `A timer that spins hits its grid, and its calls are not counted`() throws {
    let meter = TickMeter(every: 1_000_000, count: 5)
    try subject("raw.spin").runTimer(hitting: meter)
    #expect(meter.fires + meter.missed >= 5 && meter.early == 0)
    // Where the machine was away for all ticks but one, there is no schedule.
    #expect(meter.drift == (meter.fires > 1 ? 0 : nil))
    #expect(throws: Refusal.self) {
      try TimerLateness.everyTenMilliseconds.countedRound(of: subject("raw.spin"), size: 1)
    }
  }

  @Test func `A timer before all others hits its grid, or says that it is not permitted`() throws {
    let meter = TickMeter(every: 1_000_000, count: 5)
    let fifo = try subject("raw.fifo")
    do throws(Refusal) {
      try fifo.runTimer(hitting: meter)
      #expect(meter.fires + meter.missed >= 5 && meter.early == 0)
      // Where the machine was away for all ticks but one, there is no schedule.
      #expect(meter.drift == (meter.fires > 1 ? 0 : nil))
    } catch {
      #expect(error == .cannot("SCHED_FIFO is not permitted (RLIMIT_RTPRIO, CAP_SYS_NICE)"))
    }
    #expect(bench_is_ordinary())
  }
}
