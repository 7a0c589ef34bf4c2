import Synchronization

/// Work after a callout, so that the optimiser cannot turn the call into a jump and lose the caller's frame.
package enum CalloutBarrier {
  /// *atomic* Never read for its value.
  private static let calls = Atomic<UInt8>(0)

  @inline(__always)
  package static func keepFrame() {
    calls.store(1, ordering: .relaxed)
  }
}
