import CoreFoundation
import Rondo
import Synchronization

/// Foundation's own loop of the same thread.
extension RunLoop {
  /// Whether Foundation's own loop of the thread and this one serve each other.
  public enum FoundationStatus: Sendable, Hashable {
    /// The thread has no loop of Foundation's, or `servesFoundation` is false.
    case notNeeded
    /// Whichever of the two runs serves both.
    case serving
    /// They cannot, for this reason. Nothing of Foundation's loop is served while this one runs, and the other way
    /// round.
    case unavailable(String)
  }

  /// Whether this loop and Foundation's own of the thread serve each other. True at first.
  ///
  /// The loop's own thread. Set to true, it makes Foundation's loop, for a thread that might have one later; set to
  /// false, it saves the system calls that sleeping in Foundation's wait costs.
  public var servesFoundation: Bool {
    get { bridge.isWanted.load(ordering: .relaxed) }
    set {
      contract(
        getLoop().isCurrent, "Whether a run loop serves Foundation's is its own thread's affair: set it there.")
      bridge.isWanted.store(newValue, ordering: .relaxed)
      if newValue, !getLoop().isVirtual { _ = CFRunLoopGetCurrent() }
      bridge.attach()
    }
  }

  /// How it stands between this loop and Foundation's own of the thread, at this moment. The loop's own thread.
  public var foundationStatus: FoundationStatus {
    contract(
      getLoop().isCurrent, "How a run loop stands with Foundation's is its own thread's affair: ask there.")
    if bridge.attach() { return .serving }
    guard servesFoundation, let refusal = bridge.refusal else { return .notNeeded }
    return .unavailable(refusal)
  }
}
