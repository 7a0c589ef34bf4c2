internal import Rondo
internal import Synchronization

/// The actor that a handler belongs to, which says which loop may call it.
@safe final class HandlerOwner: Sendable {
  /// *constant*
  private let actor: any Actor
  /// *atomic* The loop that was found to be the actor's; 0 before. A later loop may have the same identity: the runtime,
  /// which asks at each call, still refuses it.
  private let served = Atomic<UInt>(0)

  init(_ actor: any Actor) {
    self.actor = actor
  }

  /// Traps unless the calling thread, which serves its loop, has the actor to itself.
  func check() {
    let identity = Loop.identityOfCurrent
    if identity != 0, identity == served.load(ordering: .relaxed) { return }
    let loop = Loop.current
    require(
      isServed(by: loop),
      "A handler of \(type(of: actor)) was given to the loop of \(loop.threadDescription), which that actor does not run on. "
        + "Give it to \(actor === MainActor.shared ? "Loop.main" : "the loop that is the actor's executor").")
    served.store(Loop.identityOfCurrent, ordering: .relaxed)
  }

  private func isServed(by loop: Loop) -> Bool {
    let executor = unsafe Reference(actor.unownedExecutor)
    // The main actor is the main thread's, whether its jobs come by the loop or by the main dispatch queue.
    if unsafe actor === MainActor.shared || executor == Reference(MainActor.sharedUnownedExecutor) {
      return loop.isOfMainThread || Loop.scope?.hasMainActor == true
    }
    let own = unsafe Reference(loop.actorLane.asUnownedSerialExecutor())
    if executor == own { return true }
    // A lane of another kind of executor that Rondo makes, or no object that it knows.
    guard executor.type == own.type, let object = unsafe UnsafeRawPointer(bitPattern: executor.object) else {
      return false
    }
    return unsafe Unmanaged<JobLane>.fromOpaque(object)._withUnsafeGuaranteedRef {
      $0.isSameExclusiveExecutionContext(other: loop.actorLane)
    }
  }

  /// The two words of an executor's reference: the object, and how to use it as an executor.
  private struct Reference: Equatable {
    let object: UInt
    let type: UInt

    init(_ executor: UnownedSerialExecutor) {
      (object, type) = unsafe unsafeBitCast(executor, to: (UInt, UInt).self)
    }
  }
}
