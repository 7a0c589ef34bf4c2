import RondoTestSupport
import Testing

@testable import Rondo

/// A loop that ends is nobody's owner any more, whatever other threads are about to do to its items.
@Suite struct LoopEndMembershipTests {
  @Test(.offThePool) func `an item that another thread is making invalid leaves the loop with its end`() throws {
    let thread = try LoopThread()
    let schedule = Schedule(fireDate: Loop.clockOfThread.advanced(by: 3_600_000_000_000), interval: 0, tolerance: 0)
    let timer = PausedTimer(schedule, order: 0, Label(fileID: #fileID, line: #line)) { _ in }
    // In the common set as well, so that both memberships have to go.
    thread.loop.add(timer, to: .common)
    try thread.sync {}
    let invalidating = TestThread { timer.invalidate() }
    timer.pause.reached.take()
    thread.stop(.drop)
    // The owner is told from its address alone: the loop may be gone.
    #expect(!timer.isInLoop)
    timer.pause.opened.put(())
    invalidating.join()
  }

  @Test(.offThePool) func `a source that is invalidated while it joins a loop calls its cancel handler`() throws {
    let thread = try LoopThread()
    let (begun, opened) = (Handover<Void>(), Handover<Void>())
    // The loop does not apply the mail that the source joins by, and so does not hold its handlers.
    thread.execute {
      begun.put(())
      opened.take()
    }
    begun.take()
    let cancels = Guarded(0)
    let held = Guarded<PausedSource?>(nil)
    let invalidating = Handover<TestThread<Void>>()
    let source = PausedSource(
      schedule: { _, _ in
        let joining: PausedSource? = held.withLock { $0 }
        guard let source = joining else { return }
        invalidating.put(TestThread { source.invalidate() })
        source.pause.reached.take()
      },
      cancel: { _, _ in cancels.withLock { $0 += 1 } }, perform: {})
    held.withLock { joining in joining = source }
    thread.loop.add(source)
    source.pause.opened.put(())
    invalidating.take().join()
    opened.put(())
    thread.stop()
    #expect(cancels.withLock { $0 } == 1)
    held.withLock { source in source = nil }
  }

  @Test(arguments: [false, true])
  func `what is common and has left its modes again before the loop looked is kept, and joins what becomes common`(
    _ isSource: Bool
  ) throws {
    let (isKept, isMember, isFree) = onLoopThread { stage -> (Bool, Bool, Bool) in
      let loop = stage.loop
      let item: Loop.Item = isSource ? Loop.Source {} : Loop.Timer(after: .seconds(3_600)) { _ in }
      TestThread {
        loop.add(item, to: .common)
        loop.remove(item)
      }.join()
      loop.run(for: .zero)
      let isKept = item.slot >= 0
      loop.addCommonMode("later")
      loop.run(for: .zero)
      loop.checkInvariants()
      let isMember = loop.contains(item, in: "later") && !loop.contains(item)
      loop.remove(item, from: .common)
      return (isKept, isMember, !item.isInLoop)
    }
    #expect(isKept)
    #expect(isMember)
    #expect(isFree)
  }
}

/// Where an invalidation waits, with the item invalid and still in its loop.
private struct Pause: Sendable {
  let reached = Handover<Void>()
  let opened = Handover<Void>()

  func pass() {
    reached.put(())
    opened.take()
  }
}

private final class PausedTimer: Loop.Timer, @unchecked Sendable {
  let pause = Pause()

  override func leaveLoops() -> Loop.Item? {
    pause.pass()
    return super.leaveLoops()
  }
}

private final class PausedSource: Loop.Source, @unchecked Sendable {
  let pause = Pause()

  override func leaveLoops() -> Loop.Item? {
    pause.pass()
    return super.leaveLoops()
  }
}
