import Rondo
import RondoRecipes
import RondoTesting
import Synchronization
import Testing

// The examples of RondoRecipes.docc, compiled and run. `ExampleTextTests` sees to it that they stand in the
// documentation as they stand here.

/// What the examples have done.
private final class Log: Sendable {
  private let notes = Mutex<[String]>([])

  func note(_ text: String) { notes.withLock { $0.append(text) } }

  var text: String { notes.withLock { $0.joined(separator: ", ") } }
}

@Suite struct RecipeExamplesTests {
  @Test func `RondoRecipes: idle work, a flush, a scope and a clock, until a condition holds`() {
    withVirtualLoop { virtual in
      let loop = virtual.loop
      let log = Log()

      let idle = Loop.IdleWork(on: loop)
      for page in 1...3 { idle.add { log.note("page \(page)") } }

      let flush = Loop.Flush(on: loop) { log.note("flush") }
      loop.perform {
        flush.setNeedsFlush()
        flush.setNeedsFlush()
      }

      let scope = Loop.TurnScope(on: loop, push: { log.note("push") }, pop: { log.note("pop") })

      let clock = Loop.FrameClock(every: .milliseconds(16), on: loop) { frame in
        log.note("frame \(frame.number), \(frame.skipped) skipped")
      }

      let isReady = loop.run(timeout: .seconds(5)) { log.text.contains("frame 2") }

      clock.invalidate()
      scope.invalidate()
      #expect(isReady)
      #expect(
        log.text == """
          push, page 1, flush, pop, push, page 2, pop, push, page 3, pop, push, frame 1, 0 skipped, pop, push, \
          frame 2, 0 skipped, pop, push, pop
          """)
    }
  }
}
