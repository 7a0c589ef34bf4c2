import CLibevent

/// A descriptor source's registration with the wait set of one mode. *loop thread*
@safe struct DescriptorWatch {
  /// The mode's index.
  let mode: Int
  /// Its place among the watches of its number.
  let raw: UnsafeMutablePointer<rondo_watch>
  /// What the kernel has been asked for.
  var interest: Loop.DescriptorSource.Readiness
}

/// A source that the loop gives up, and why. Told when the wait set is in order again: a handler may die of it.
struct FallenSource {
  let source: Loop.DescriptorSource
  let reason: Loop.DescriptorSource.InvalidationReason
}

extension [FallenSource] {
  /// Invalidates them. Calls out.
  func giveUp() {
    for fallen in self { fallen.source.invalidate(because: fallen.reason) }
  }
}
