import Rondo
import RondoFoundation
import RondoTestSupport
import Testing

/// Foundation's streams in this module's run loop: what each subject of `foundation-probe` prints.
@Suite(.offThePool) struct StreamTests {
  private func lines(_ subject: String, on place: BridgeTests.Place) throws -> [String] {
    try RondoFoundationTests.lines(of: "foundation-probe", [subject] + (place == .main ? ["main"] : []))
      .filter { !$0.isEmpty }
  }

  @Test(arguments: BridgeTests.Place.allCases)
  func `a stream's delegate is called on the loop's thread until the stream ends`(_ place: BridgeTests.Place) throws {
    #expect(
      try lines("streams", on: place) == [
        "memory: open wrote wrote, on this thread true", "file, out: open wrote wrote, on this thread true",
        "data: open read 3 read 2 end, on this thread true", "file, in: open read 3 read 1 end, on this thread true",
        "serving",
      ])
  }

  @Test(arguments: BridgeTests.Place.allCases)
  func `a stream is in the modes in which it was scheduled, and in no other`(_ place: BridgeTests.Place) throws {
    #expect(
      try lines("streams-modes", on: place) == [
        "in the default mode: ", "in the tracking mode: open read 3 read 2 end",
      ])
  }

  @Test func `a stream that is closed or removed keeps no run going`() throws {
    #expect(
      try lines("streams-end", on: .worker) == [
        "removed:  false", "never opened, removed:  false", "closed and removed:  false", "closed:  false",
        "freed:  true",
      ])
  }

  @Test func `another thread schedules a stream in the main run loop, which sleeps by itself`() throws {
    #expect(try lines("streams-main", on: .main) == ["open read 3 read 2 end, on the main thread true"])
  }

  @Test(arguments: BridgeTests.Place.allCases)
  func `a stream waits while its run loop does not serve Foundation's`(_ place: BridgeTests.Place) throws {
    #expect(
      try lines("streams-deferred", on: place) == ["notNeeded: ", "serving: open read 3 read 2 end"])
  }

  @Test(arguments: BridgeTests.Place.allCases)
  func `a stream in an embedded run loop waits for the end of the embedding`(_ place: BridgeTests.Place) throws {
    #expect(
      try lines("streams-embedded", on: place) == [
        "embedded, serving false: ", "serving: open read 3 read 2 end",
      ])
  }

  @Test func `a stream in a run loop of another thread ends the process with the cure`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let thread = try LoopThread()
      InputStream(data: Data()).schedule(in: thread.runLoop, forMode: .default)
    }
    let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(text.contains("Use runLoop.perform { stream.schedule(in: RunLoop.current, forMode: mode) }."))
  }

  @Test func `a stream in the run loop of an ended thread ends the process likewise`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let thread = try LoopThread()
      await thread.end()
      InputStream(data: Data()).remove(from: thread.runLoop, forMode: .default)
    }
    let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(text.contains("Use runLoop.perform { stream.remove(from: RunLoop.current, forMode: mode) }."))
  }
}
