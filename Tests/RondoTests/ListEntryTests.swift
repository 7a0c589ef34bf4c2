import Glibc
import Rondo
import RondoTesting
import Testing

/// How much the lists of a loop keep of items that have left, and the mailbox of changes that were overtaken.
@Suite struct ListEntryTests {
  /// Below 32 stale tokens a list is not swept.
  private let few = 34

  @Test func `descriptor sources that have left a mode nobody runs leave nothing on its list`() throws {
    try withStage(isObserved: false) { stage in
      stage.loop.addCommonMode("tracking")
      for _ in 0..<1000 {
        let source = try Loop.DescriptorSource(UnconnectedSocket.shared, for: .read) { _, _ in }
        stage.loop.add(source, to: .common)
        stage.loop.run(for: .zero)
        stage.loop.remove(source, from: .common)
      }
      #expect(stage.loop.sizes.dirtyDescriptors <= few)
      #expect(stage.loop.sizes.items == 0)
    }
  }

  @Test func `signalled sources that have left a mode nobody runs leave nothing on its list`() {
    withStage(isObserved: false) { stage in
      stage.loop.addCommonMode("tracking")
      for _ in 0..<1000 {
        let source = Loop.Source {}
        stage.loop.add(source, to: .common)
        source.signal()
        stage.loop.run(for: .zero)
        source.invalidate()
      }
      #expect(stage.loop.sizes.signalled <= few)
      #expect(stage.loop.sizes.items == 0)
    }
  }

  @Test func `what leaves in the last callout of a run is let go of with the run`() {
    withStage(isObserved: false) { stage in
      let source = stage.keepAlive()
      stage.observer(.exit) { _ in stage.loop.remove(source) }
      stage.loop.run(for: .zero)
      #expect(stage.loop.sizes.retired == 0)
    }
  }

  enum Change: CaseIterable, Sendable {
    case dates, interest, membership
  }

  @Test(arguments: Change.allCases)
  func `ten thousand changes of one item mailed to a busy loop are few`(_ change: Change) throws {
    try withStage(isObserved: false) { stage in
      let timer = stage.timer("t", after: .seconds(3600))
      let source = try Loop.DescriptorSource(UnconnectedSocket.shared, for: .read) { _, _ in }
      stage.loop.add(source)
      TestThread {
        for step in 0..<10_000 {
          switch change {
          case .dates: timer.setFireDate(after: .seconds(step.isMultiple(of: 2) ? 1800 : 7200))
          case .interest: source.enabled = step.isMultiple(of: 2) ? .write : .read
          case .membership: if step.isMultiple(of: 2) { stage.loop.remove(timer) } else { stage.loop.add(timer) }
          }
        }
      }.join()
      // The later one stands where the next would; the place of the earlier is blank until a sweep is worth it.
      #expect(stage.loop.sizes.mailedChanges <= few)
      #expect(stage.loop.contains(timer))
    }
  }
}
