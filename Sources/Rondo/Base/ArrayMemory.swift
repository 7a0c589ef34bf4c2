/// How much memory an idle loop keeps for later.
enum ArrayMemory {
  /// Elements. Chosen.
  static let mostKept = 4_096
}

extension RangeReplaceableCollection where Self: RandomAccessCollection {
  /// Empties an array that is used again and again. It keeps its memory unless it had many elements.
  @inline(__always)
  mutating func empty() { removeAll(keepingCapacity: count <= ArrayMemory.mostKept) }
}

extension ContiguousArray {
  /// Gives half of the memory or more back once three quarters are free. O(1), counted over many.
  @inline(__always)
  mutating func shrinkIfSparse() {
    if capacity > ArrayMemory.mostKept, count < capacity / 4 { shrink() }
  }

  @inline(never)
  private mutating func shrink() {
    var smaller: ContiguousArray = []
    smaller.reserveCapacity(2 * count)
    smaller.append(contentsOf: self)
    self = smaller
  }
}
