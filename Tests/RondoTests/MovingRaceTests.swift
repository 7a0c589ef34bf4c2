import Rondo
import RondoTesting
import Testing

/// Two threads that want one item, each for a loop of its own: it is free when the other has let go of all of it.
@Suite struct MovingRaceTests {
  enum Kind: CaseIterable, Sendable {
    case timer, observer, descriptor
  }

  /// An item that tells where it was called.
  private func item(_ kind: Kind, _ calls: Tally) -> Loop.Item {
    switch kind {
    case .timer:
      return Loop.Timer(every: .milliseconds(1), tolerance: .microseconds(100)) { _ in calls.add() }
    case .observer:
      return Loop.Observer(.entry) { _ in calls.add() }
    case .descriptor:
      do {
        return try Loop.DescriptorSource(UnconnectedSocket.shared, for: .write) { _, _ in calls.add() }
      } catch {
        fatalError("\(error)")
      }
    }
  }

  @Test(arguments: Kind.allCases)
  func `an item that two threads take from each other belongs wholly to one loop or to none`(_ kind: Kind) {
    let calls = Tally()
    let item = item(kind, calls)
    let (ready, takes) = (Tally(), Tally())
    let threads = (0..<2).map { _ in
      TestThread {
        let loop = Loop.current
        // To leave many modes takes a while, in which the other thread must not get the item.
        for mode in 1..<60 { loop.addCommonMode(Loop.Mode("m\(mode)")) }
        ready.add()
        while ready.count < 2 { yieldThread() }
        // An item that is lost can be taken no more, so there is an end to the tries.
        for _ in 0..<1_000_000 where takes.count < 2_000 {
          guard loop.add(item, to: .common) else {
            yieldThread()
            continue
          }
          takes.add()
          loop.remove(item, from: .common)
        }
        loop.checkInvariants()
        precondition(loop.sizes.items == 0)
      }
    }
    for thread in threads { thread.join() }
    #expect(takes.count >= 2_000)
    #expect(calls.count == 0)
    withStage { stage in
      stage.keepAlive()
      #expect(stage.loop.add(item))
      stage.loop.checkInvariants()
      stage.loop.remove(item)
    }
  }
}
