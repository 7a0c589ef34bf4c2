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
