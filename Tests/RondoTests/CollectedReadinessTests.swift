import Rondo
import RondoTesting
import Testing

/// What a wait has collected is that wait's, whatever user code runs before it is told.
@Suite struct CollectedReadinessTests {
  /// Adds a source whose file is gone before the loop watches it: the next wait gives it up, and then does `action`.
  private static func addFallen(_ stage: Stage, then action: @escaping () -> Void) {
    let pipe = stage.pipe()
    let keeper = AtDeath(action)
    stage.descriptor("fallen", pipe.reader) { _, _ in _ = keeper }
    pipe.replaceReader(with: nil)
  }

  @Test func `readiness that a run nested in the wait has served is not told again`() {
    let text = onLoopThread { stage in
      let loop = stage.loop
      let pipe = stage.pipe()
      stage.descriptor("read", pipe.reader) { _, _ in stage.note("\(pipe.drain())") }
      let dying = Self.makeSource(loop) {
        stage.note("(")
        loop.run(for: .zero)
        stage.note(")")
      }
      Self.addFallen(stage) {
        // The wait has applied its mail, and is about to ask the kernel: it collects the byte, and finds this mail.
        pipe.write(1)
        TestThread { dying.item?.invalidate() }.join()
      }
      loop.run(for: .zero)
      loop.run(for: .zero)
      return stage.text
    }
    #expect(text == "( read 1 )")
  }

  @Test func `an edge that a nested run has told is not told again in the place of what its callout found ready`() {
    let text = onLoopThread { stage in
      let loop = stage.loop
      let (edge, other) = (stage.pipe(), stage.pipe())
      stage.descriptor("edge", edge.reader, trigger: .edge)
      stage.descriptor("other", other.reader) { _, _ in other.drain() }
      let levels = (0..<5).map { _ in stage.pipe() }
      for (number, level) in levels.enumerated() {
        stage.descriptor("level\(number)", level.reader) { _, _ in
          for level in levels { level.drain() }
          other.write(1)
          edge.write(1)
          // It collects these two, in the memory where two of the five were.
          loop.run(for: .zero)
        }
        level.write(1)
      }
      for _ in 0..<3 { loop.run(for: .zero) }
      return stage.text
    }
    #expect(text == "level0 other edge")
  }

  @Test func `edges that a run nested in the wait has told are not looked for among what the wait collects`() {
    let text = onLoopThread { stage in
      let loop = stage.loop
      for number in 0..<3 {
        let pipe = stage.pipe()
        stage.descriptor("edge\(number)", pipe.reader, trigger: .edge)
        pipe.write(1)
      }
      // Two edges are left for the next wait.
      loop.run(for: .zero, returnAfterSourceHandled: true)
      let level = stage.pipe()
      stage.descriptor("level", level.reader) { _, _ in level.drain() }
      level.write(1)
      Self.addFallen(stage) {
        stage.note("(")
        loop.run(for: .zero, returnAfterSourceHandled: true)
        loop.run(for: .zero, returnAfterSourceHandled: true)
        stage.note(")")
      }
      loop.run(for: .zero)
      loop.run(for: .zero)
      return stage.text
    }
    #expect(text == "edge0 ( edge1 edge2 ) level")
  }

  /// A source of the loop, which alone keeps it, and whose handler does `action` when it dies.
  private static func makeSource(_ loop: Loop, whenDead action: @escaping () -> Void) -> WeakItem {
    let keeper = AtDeath(action)
    let source = Loop.Source { _ = keeper }
    loop.add(source)
    return WeakItem(source)
  }

  private final class WeakItem: @unchecked Sendable {
    private(set) weak var item: Loop.Item?
    init(_ item: Loop.Item) { self.item = item }
  }
}
