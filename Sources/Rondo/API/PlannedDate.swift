import Synchronization

/// A timer's date, and whether its fire has begun: one word, so that a date set by any thread is never lost to a fire.
///
/// Any thread. A date that was spent fires no more; setting one, the same or another, renews it.
struct PlannedDate: ~Copyable, Sendable {
  /// *atomic* Nanoseconds; complemented, and so negative, once spent. No timer's date is negative. Ordering: see
  /// `Item.notes`.
  private let word: Atomic<Int64>

  init(_ date: Instant) {
    Self.check(date)
    word = Atomic(date.nanoseconds)
  }

  /// The date, spent or not.
  @inline(__always)
  var date: Instant {
    let word = word.load(ordering: .relaxed)
    return Instant(nanoseconds: word < 0 ? ~word : word)
  }

  /// Whether the fire of the date has begun and no other has been set.
  @inline(__always)
  var isSpent: Bool { word.load(ordering: .relaxed) < 0 }

  /// Sets a date.
  func set(_ date: Instant) {
    Self.check(date)
    word.store(date.nanoseconds, ordering: .sequentiallyConsistent)
  }

  /// The fire of `date` begins, unless another date was set since.
  @inline(__always)
  func spend(_ date: Instant) -> Bool {
    word.compareExchange(expected: date.nanoseconds, desired: ~date.nanoseconds, ordering: .sequentiallyConsistent)
      .exchanged
  }

  /// Replaces `date`, unless another was set since.
  @inline(__always)
  func replace(_ date: Instant, by next: Instant) -> Bool {
    Self.check(next)
    return word.compareExchange(
      expected: date.nanoseconds, desired: next.nanoseconds, ordering: .sequentiallyConsistent
    ).exchanged
  }

  /// A negative date would stand for one that was spent, and never fire.
  @inline(__always)
  private static func check(_ date: Instant) {
    assert(date.nanoseconds >= 0, "A timer's date is negative: it was not made by Schedule.date.")
  }
}
