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

  @Test func `a loop asks network cards`() throws {
    let loop = Loop.current
    do {
      try loop.setNetworkPolling(NetworkPolling(.microseconds(50), budget: 8))
      try loop.setNetworkPolling(nil)
    } catch {
      #expect(error == .notSupported)
    }
  }
}
