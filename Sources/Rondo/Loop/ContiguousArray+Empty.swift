extension ContiguousArray {
  /// Empties the array and keeps its room: one by one while that is cheaper than the general way, which is not inlined.
  @inline(__always)
  mutating func empty() {
    if count > 8 { removeAll(keepingCapacity: true) }
    while !isEmpty { removeLast() }
  }
}
