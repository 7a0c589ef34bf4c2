/// A source that the loop gives up, and why. Told when the wait set is in order again: a handler may die of it.
struct RejectedSource {
  let source: Loop.DescriptorSource
  let reason: Loop.DescriptorSource.InvalidationReason
}
