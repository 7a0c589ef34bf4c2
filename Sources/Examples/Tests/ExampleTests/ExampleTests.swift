import Testing

/// The examples print what they are there to show.
@Suite struct ExampleTests {
  @Test func `async-main is on the main thread, with the main queue`() throws {
    #expect(
      try lines(of: "async-main") == [
        "the main queue, on the main thread: true", "main, on the main thread: true",
      ])
  }

  @Test func `permanent-thread loses nothing, and refuses what comes too late`() throws {
    #expect(
      try lines(of: "permanent-thread") == [
        "lines so far: 300", "lines at the end: 301", "each writer's lines in order: true",
        "a call afterwards: the loop's thread has ended",
      ])
  }

  @Test func `mode-switch lets default timers rest while common ones go on`() throws {
    let ordinary = [
      "  refresh, in the default mode: ticked", "  playback, in the common modes: ticked",
      "  gesture, in the tracking mode: rested",
    ]
    let tracking = [
      "  refresh, in the default mode: rested", "  playback, in the common modes: ticked",
      "  gesture, in the tracking mode: ticked",
    ]
    #expect(
      try lines(of: "mode-switch")
        == ["ordinary work"] + ordinary + ["tracking"] + tracking + ["ordinary work again"] + ordinary)
  }

  @Test func `message-port-pair asks another process, and notices that it goes`() throws {
    #expect(
      try lines(of: "message-port-pair") == [
        "in capitals: HELLO", "the sum: 6", "no answer: the receiver did not answer",
        "the child has gone: the receiver ended the connection: closing",
      ])
  }
}
