import Rondo
import RondoRecipes
import RondoTesting
import Synchronization
import Testing

// The example of RondoRecipes.docc, compiled and run. `ExampleTextTests` compares it with the page.

/// What the examples have done.
private final class Log: Sendable {
  private let notes = Mutex<[String]>([])

  func note(_ text: String) { notes.withLock { $0.append(text) } }

  var text: String { notes.withLock { $0.joined(separator: ", ") } }
}

@Suite struct RecipeExamplesTests {
  @Test func `RondoRecipes: idle work and a flush, until a condition holds`() {
    withVirtualLoop { virtual in
      let loop = virtual.loop
      let log = Log()
      @Sendable func print(_ text: String) { log.note(text) }

      let idle = Loop.IdleWork(on: loop)
      for page in 1...3 { idle.add { print("page \(page)") } }
      let flush = Loop.Flush(on: loop) { print("flush") }
      loop.perform {
        flush.setNeedsFlush()
        flush.setNeedsFlush()
      }
      let clock = Loop.FrameClock(every: .milliseconds(16), on: loop) { frame in print("frame \(frame.number)") }
      let isFinished = loop.run(timeout: .seconds(5)) { idle.count == 0 }

      clock.invalidate()
      #expect(isFinished)
      #expect(log.text == "page 1, flush, page 2, page 3")
    }
  }
}
