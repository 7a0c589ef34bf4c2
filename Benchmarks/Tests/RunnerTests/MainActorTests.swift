import Dispatch
import Rondo
import RondoAsync
import RondoMain
import Testing

@concurrent private func elsewhere() async -> Bool { Loop.main.isCurrent }

/// A test runner that RondoMain is linked with: its own main is async, and so on the main loop.
@Suite struct MainActorTests {
  @MainActor @Test func `the main actor stays on the main loop's thread`() async throws {
    #expect(Loop.main.isCurrent)
    #expect(await !elsewhere())
    #expect(Loop.main.isCurrent)
    try await Task.sleep(for: .milliseconds(1))
    #expect(Loop.main.isCurrent)
  }

  @Test func `a test that is isolated to nothing runs elsewhere, and gets to the main actor and back`() async {
    #expect(!Loop.main.isCurrent)
    #expect(await MainActor.run { Loop.main.isCurrent })
    #expect(!Loop.main.isCurrent)
  }

  @MainActor @Test func `items of the main loop and the main queue are served while a test waits`() async {
    for await _ in Loop.main.ticks(every: .milliseconds(1)) { break }
    await withCheckedContinuation { waiting in
      DispatchQueue.main.async { waiting.resume() }
    }
  }
}
