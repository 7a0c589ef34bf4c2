import Rondo
import Synchronization

/// A timer, an observer or a source of CF. A loop keeps the ones that are in it.
class ItemObject: CFObject, @unchecked Sendable {
  /// *its own lock* The loops that keep it.
  final let homes = Guarded<[RunLoopObject]>([])
  private let isEnded = Atomic<Bool>(false)

  /// Whether it is in a mode of the loop, or in its common modes.
  func isMember(of loop: Loop) -> Bool { preconditionFailure("Each kind of item knows where it is.") }

  /// The loop does not have it any more, if ever: what stood there for it may go. Calls out.
  func letGo(of loop: Loop) {}

  /// What stands in the loop for it is invalidated. Calls out.
  func endItem() {}

  /// Gives back what the context gave. Calls out.
  func endContext() {}

  /// The loop that kept it has ended.
  func loopEnded() {}

  /// Whether it can still be called.
  var isValid: Bool { !isEnded.load(ordering: .acquiring) }

  /// Takes it out of every mode for good. Calls out.
  final func invalidate() {
    guard !isEnded.exchange(true, ordering: .acquiringAndReleasing) else { return }
    endItem()
    let homes = homes.withLock { $0 }
    for home in homes { home.settle(self) }
    endContext()
  }
}

/// An item that can be in one loop, and whose context ends with it.
class OwnedItemObject: ItemObject, @unchecked Sendable {
  /// *its own lock* Nil once it is invalid.
  private let context: Guarded<Info?>

  init(_ info: Info) {
    context = Guarded(info)
  }

  /// What stands in the loop for it.
  var member: Loop.Item { preconditionFailure("Each kind of item has one of the loop's.") }

  /// What its function is given; nil once it is invalid.
  final var info: Info? { context.withLock { $0 } }

  override final var isValid: Bool { super.isValid && member.isValid }

  override final func isMember(of loop: Loop) -> Bool { loop.holds(member) }

  override final func endItem() { member.invalidate() }

  override final func endContext() {
    let info = context.withLock { $0.take() }
    info?.end()
  }

  override final func loopEnded() { invalidate() }

  /// Adds it, where it may be. Calls out.
  final func add(to runLoop: RunLoopObject, _ mode: Loop.Mode) {
    guard isValid, runLoop.admits(mode) else { return }
    runLoop.loop.add(member, to: mode)
    runLoop.settle(self)
  }

  final func remove(from runLoop: RunLoopObject, _ mode: Loop.Mode) {
    runLoop.loop.remove(member, from: mode)
    runLoop.settle(self)
  }
}
