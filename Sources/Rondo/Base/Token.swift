/// A slot and the generation it was given out in; what hot arrays and the kernel hold instead of a reference.
struct Token: Hashable {
  let slot: UInt32
  let generation: UInt32

  init(slot: UInt32, generation: UInt32) {
    self.slot = slot
    self.generation = generation
  }

  init(_ packed: UInt64) {
    slot = UInt32(truncatingIfNeeded: packed)
    generation = UInt32(truncatingIfNeeded: packed >> 32)
  }

  var packed: UInt64 { UInt64(generation) << 32 | UInt64(slot) }
}
