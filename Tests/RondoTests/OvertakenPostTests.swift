import Rondo
import RondoTestSupport
import RondoTesting
import Testing

/// Posters that other threads overtake as they post: whatever was posted comes. In simulation, where a seed chooses who
/// goes on.
@Suite struct OvertakenPostTests {
  /// Has `post` run on a thread whose posts go to another one's loop, which sleeps at first; then asks what has come.
  private func posting(
    _ prepare: (LoopThread) -> Void, _ post: @escaping @Sendable (LoopThread) -> Void,
    hasCome: (LoopThread) -> Bool
  ) throws {
    try withSimulation { simulation in
      let host = simulation.host("10.0.0.1")
      let (poster, target) = try host.run { (try LoopThread(name: "poster"), try LoopThread(name: "target")) }
      prepare(target)
      simulation.run(for: .seconds(1))
      poster.execute { post(target) }
      simulation.run(for: .seconds(1))
      let isThere = hasCome(target)
      #expect(isThere)
      host.run {
        poster.stop()
        target.stop()
      }
    }
  }

  @Test(.seeds(20)) func `a block runs`() throws {
    let count = Guarded(0)
    try posting(
      { _ in }, { $0.loop.perform { count.withLock { $0 += 1 } } },
      hasCome: { _ in count.withLock { $0 == 1 } })
  }

  @Test(.seeds(20)) func `a signal is served`() throws {
    let count = Guarded(0)
    let source = Loop.Source { count.withLock { $0 += 1 } }
    try posting({ $0.loop.add(source) }, { _ in source.signal() }, hasCome: { _ in count.withLock { $0 == 1 } })
    source.invalidate()
  }

  @Test(.seeds(20)) func `a change of a timer's date counts`() throws {
    let count = Guarded(0)
    let timer = Loop.Timer(after: .seconds(3_600)) { _ in count.withLock { $0 += 1 } }
    try posting(
      { $0.loop.add(timer) }, { _ in timer.setFireDate(after: .milliseconds(1)) },
      hasCome: { _ in count.withLock { $0 == 1 } })
  }

  @Test(.seeds(20)) func `a timer that is added fires`() throws {
    let count = Guarded(0)
    try posting(
      { _ in }, { $0.loop.add(Loop.Timer(after: .milliseconds(1)) { _ in count.withLock { $0 += 1 } }) },
      hasCome: { _ in count.withLock { $0 == 1 } })
  }

  @Test(.seeds(20)) func `a source with a signal that is added is served`() throws {
    let count = Guarded(0)
    let source = Loop.Source { count.withLock { $0 += 1 } }
    source.signal()
    try posting({ _ in }, { $0.loop.add(source) }, hasCome: { _ in count.withLock { $0 == 1 } })
    source.invalidate()
  }

  @Test(.seeds(20)) func `an item that is removed can go to another loop`() throws {
    let timer = Loop.Timer(after: .seconds(3_600)) { _ in }
    try posting({ $0.loop.add(timer) }, { $0.loop.remove(timer) }, hasCome: { _ in Loop.current.add(timer) })
    timer.invalidate()
  }

  @Test(.seeds(20)) func `a task's job runs`() throws {
    let count = Guarded(0)
    try posting(
      { _ in }, { thread in Task(executorPreference: thread.loop) { count.withLock { $0 += 1 } } },
      hasCome: { _ in count.withLock { $0 == 1 } })
  }

  @Test(.seeds(20)) func `a thread ends`() throws {
    try posting({ _ in }, { $0.stop() }, hasCome: { $0.hasEnded })
  }
}
