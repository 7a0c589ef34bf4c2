import Synchronization

/// How far a loop is on its way to its end. Its thread takes it forward, and never back.
enum Life: UInt8, AtomicRepresentable, Comparable {
  /// Takes whatever is posted.
  case open
  /// Refuses what is posted, and serves what it has accepted.
  case refusing
  /// Has run its last job: later ones go to `DetachedJobQueue`.
  case orphaned
  /// Has released everything that was in the loop.
  case ended

  @inline(__always)
  static func < (left: Life, right: Life) -> Bool { left.rawValue < right.rawValue }
}
