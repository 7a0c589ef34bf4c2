public import Foundation
import Rondo
import Synchronization

/// Foundation's own loop of the same thread.
extension RunLoop {
  /// Whether Foundation's own loop of the thread and this one serve each other.
  public enum FoundationStatus: Sendable, Hashable {
    /// `servesFoundation` is false.
    case notNeeded
    /// Each of the two loops serves the other one while it runs.
    case serving
    /// The two loops do not serve each other, for this reason.
    case unavailable(String)
  }

  /// Whether this loop and Foundation's loop of the thread serve each other. True at first.
  ///
  /// Use it on the loop's own thread. Setting false saves the system calls of a sleep in Foundation's wait. Process,
  /// streams and files that you have not ported then run without this loop.
  public var servesFoundation: Bool {
    get { bridge.isWanted.load(ordering: .relaxed) }
    set {
      require(
        getLoop().isCurrent, "Whether a run loop serves Foundation's is its own thread's affair: set it there.")
      bridge.isWanted.store(newValue, ordering: .relaxed)
      bridge.attach(making: newValue)
    }
  }

  /// Whether this loop and Foundation's loop serve each other now. The loop's own thread.
  public var foundationStatus: FoundationStatus {
    require(
      getLoop().isCurrent, "How a run loop stands with Foundation's is its own thread's affair: ask there.")
    if bridge.attach() { return .serving }
    guard servesFoundation, let refusal = bridge.refusal else { return .notNeeded }
    return .unavailable(refusal)
  }
}

/// Where `.current` and `.main` could be a run loop of either module, they are this module's: the compiler takes what is
/// disfavored last. These shadow Foundation's in a file that imports RondoFoundation alone.
extension Foundation.RunLoop {
  /// Foundation's own loop of the calling thread.
  @available(*, noasync)
  @_disfavoredOverload
  public class var current: Foundation.RunLoop { Foundation.RunLoop.Foundation::current }

  /// Foundation's own loop of the main thread. Any thread.
  @_disfavoredOverload
  public class var main: Foundation.RunLoop { Foundation.RunLoop.Foundation::main }
}
