import Rondo
import RondoTesting
import Testing

/// When a loop lets go of items, closures and what they own.
@Suite struct LifetimeTests {
  private final class Owned: Sendable {}

  /// Makes an item whose closure owns something, and says afterwards whether that is still alive.
  private func isKept(
    _ make: (Stage, @escaping @Sendable () -> Void) -> Loop.Item, after body: (VirtualStage, Loop.Item) -> Void
  ) -> Bool {
    weak var owned: Owned?
    var isKept = false
    withStage(isObserved: false) { stage in
      stage.keepAlive()
      do {
        let made = Owned()
        owned = made
        let item = make(stage) { _ = made }
        stage.loop.add(item)
        body(stage, item)
      }
      stage.loop.run(for: .zero)
      isKept = owned != nil
    }
    return isKept
  }

  private func makeTimer(_ stage: Stage, _ use: @escaping @Sendable () -> Void) -> Loop.Item {
    Loop.Timer(every: .seconds(1)) { _ in use() }
  }

  private func makeSource(_ stage: Stage, _ use: @escaping @Sendable () -> Void) -> Loop.Item {
    Loop.Source(perform: use)
  }

  private func makeObserver(_ stage: Stage, _ use: @escaping @Sendable () -> Void) -> Loop.Item {
    Loop.Observer(.all) { _ in use() }
  }

  @Test func `a loop keeps the items that are in it`() {
    #expect(isKept(makeTimer) { _, _ in })
    #expect(isKept(makeSource) { _, _ in })
    #expect(isKept(makeObserver) { _, _ in })
  }

  @Test func `a removed item is let go`() {
    #expect(!isKept(makeTimer) { stage, item in stage.loop.remove(item) })
    #expect(!isKept(makeSource) { stage, item in stage.loop.remove(item) })
    #expect(!isKept(makeObserver) { stage, item in stage.loop.remove(item) })
  }

  @Test func `an invalid item is let go`() {
    #expect(!isKept(makeTimer) { _, item in item.invalidate() })
    #expect(!isKept(makeSource) { _, item in item.invalidate() })
    #expect(!isKept(makeObserver) { _, item in item.invalidate() })
  }

  private typealias Maker = (Stage, @escaping @Sendable () -> Void) -> Loop.Item

  /// Has an item capture itself and something else, and says whether that is still alive after the item's end.
  private func isKeptByItself(_ make: Maker, after end: (Loop, Loop.Item) -> Void) -> Bool {
    weak var owned: Owned?
    withStage(isObserved: false) { stage in
      stage.keepAlive()
      let made = Owned()
      owned = made
      let itself = Later<Loop.Item>()
      itself.value = make(stage) { _ = (made, itself.value) }
      end(stage.loop, itself.value)
      stage.loop.run(for: .zero)
    }
    return owned != nil
  }

  private func makeScheduledSource(_ stage: Stage, _ use: @escaping @Sendable () -> Void) -> Loop.Item {
    Loop.Source(schedule: { _, _ in use() }, perform: {})
  }

  private func makeCancelledSource(_ stage: Stage, _ use: @escaping @Sendable () -> Void) -> Loop.Item {
    Loop.Source(cancel: { _, _ in use() }, perform: {})
  }

  private func makeDescriptor(_ stage: Stage, _ use: @escaping @Sendable () -> Void) -> Loop.Item {
    let source = stage.descriptor("", UnconnectedSocket.shared) { _, _ in use() }
    stage.loop.remove(source)
    return source
  }

  private var makers: [Maker] {
    [makeTimer, makeSource, makeScheduledSource, makeCancelledSource, makeObserver, makeDescriptor]
  }

  @Test func `invalidation breaks the cycle of an item that captured itself`() {
    for make in makers {
      let isKept = isKeptByItself(make) { loop, item in
        loop.add(item)
        item.invalidate()
      }
      #expect(!isKept)
    }
  }

  @Test func `invalidation breaks the cycle of an item that is in no loop`() {
    for make in makers {
      let isKept = isKeptByItself(make) { _, item in item.invalidate() }
      #expect(!isKept)
    }
  }

  @Test func `invalidation breaks the cycle of an item that has left its loop`() {
    for make in makers {
      let isKept = isKeptByItself(make) { loop, item in
        loop.add(item)
        loop.run(for: .zero)
        loop.remove(item)
        loop.run(for: .zero)
        item.invalidate()
      }
      #expect(!isKept)
    }
  }

  @Test func `a handler that invalidates its own item keeps what it captured until it returns`() {
    withStage(isObserved: false) { stage in
      weak var owned: Owned?
      do {
        let made = Owned()
        owned = made
        let timer = Later<Loop.Timer>()
        timer.value = Loop.Timer(every: .seconds(1)) { _ in
          timer.value.invalidate()
          stage.loop.run(in: "m", for: .zero)
          withExtendedLifetime(made) { stage.note("called") }
        }
        stage.loop.add(timer.value)
      }
      stage.loop.run(for: .seconds(2))
      #expect(stage.text == "called")
      #expect(owned == nil)
    }
  }

  @Test func `a signalled source that was removed is let go`() {
    #expect(
      !isKept(makeSource) { stage, item in
        (item as? Loop.Source)?.signal()
        stage.loop.remove(item)
      })
  }

  @Test func `a source added to a loop that is gone is let go`() {
    weak var owned: Owned?
    do {
      let made = Owned()
      owned = made
      let loop = onLoopThread { $0.loop }
      loop.add(Loop.Source { _ = made })
    }
    #expect(owned == nil)
  }

  @Test func `a source that was signalled and never performed is let go with the loop's thread, not with the loop`() {
    final class Buried: Sendable {
      let deaths: Tally
      init(_ deaths: Tally) { self.deaths = deaths }
      deinit { deaths.add() }
    }
    let deaths = Tally()
    let loop = onLoopThread { stage in
      let source = Loop.Source { [buried = Buried(deaths)] in _ = buried }
      stage.loop.add(source)
      source.signal()
      return stage.loop
    }
    #expect(deaths.count == 1)
    #expect(loop.modes == [.default])
  }

  @Test func `a one-shot timer is let go when it has fired`() {
    withStage(isObserved: false) { stage in
      weak var owned: Owned?
      do {
        let made = Owned()
        owned = made
        stage.timer("t", after: .milliseconds(1)) { _ in _ = made }
      }
      stage.loop.run()
      #expect(stage.text == "t")
      #expect(owned == nil)
    }
  }

  @Test func `an item's closure outlives its own invalidation until the callout ends`() {
    withStage(isObserved: false) { stage in
      weak var owned: Owned?
      let timer = Later<Loop.Timer>()
      do {
        let made = Owned()
        owned = made
        timer.value = Loop.Timer(every: .milliseconds(1)) { _ in
          timer.value.invalidate()
          timer.value = nil
          stage.note("\(withExtendedLifetime(made) { true })")
        }
        stage.loop.add(timer.value)
      }
      stage.loop.run()
      #expect(stage.text == "true")
      #expect(owned == nil)
    }
  }

  @Test func `a closure that dies with its item may use the loop`() {
    final class Farewell: Sendable {
      let stage: VirtualStage
      init(_ stage: VirtualStage) { self.stage = stage }
      deinit {
        let stage = stage
        stage.loop.perform { stage.note("farewell") }
      }
    }
    withStage(isObserved: false) { stage in
      stage.keepAlive()
      do {
        let farewell = Farewell(stage)
        stage.timer("t", after: .milliseconds(1)) { _ in _ = farewell }
      }
      stage.loop.run(for: .milliseconds(5))
      #expect(stage.text == "t farewell")
    }
  }
}
