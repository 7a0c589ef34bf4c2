import Rondo
import RondoDaemon
import Testing

/// The examples of LowLatency.md.
@Suite struct LowLatencyTests {
  @Test func `a thread asks for a short slice`() throws {
    do {
      let thread = try LoopThread(name: "answers")
      try thread.loop.setScheduling(.responsive)
      #expect(try thread.loop.scheduling().slice == .microseconds(100))
      thread.stop()
    } catch let error as SchedulingError {
      #expect(error == .noSlices)
    }
  }

  @Test func `two loops that answer each other are spread and spin`() throws {
    let front = try LoopThread(name: "front")
    let back = try LoopThread(name: "back")
    let pair = [front.loop, back.loop]
    if try !Loop.spread(pair).isEmpty {
      for loop in pair { loop.busyPollBudget = .seconds(1) }
    }
    let processors = try pair.map { try $0.processors() }
    #expect(processors[0].isDisjoint(with: processors[1]) == (pair[0].busyPollBudget == .seconds(1)))
    front.stop()
    back.stop()
  }
}
