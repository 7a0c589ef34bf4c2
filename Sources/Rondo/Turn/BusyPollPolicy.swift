/// Whether and how long to spin before a sleep, in case another processor's thread is about to end it. *loop thread*
///
/// A pure machine: its input is what became of each spin, and it reads no clock.
package struct BusyPollPolicy: Equatable, Sendable {
  /// Nanoseconds of the next spin at most: four times what it usually takes until the loop is woken.
  package private(set) var patience = Self.patiences.upperBound
  /// Futile spins in a row.
  private var futile = 0
  /// Sleeps for which not to spin.
  private var rest = 0
  /// How long the next rest is.
  private var nextRest = Self.rests.lowerBound
  /// Yields in a row at which the processor was free.
  private var freeYields = Self.enoughFreeYields

  /// What patience may be. It begins with more than a wakeup across processors takes of a thread that is asleep: where
  /// two loops are to spin for each other, one of them sleeps at first.
  package static let patiences: ClosedRange<Int64> = 10_000...100_000
  /// So many futile spins in a row are enough. Chosen: 0.8 ms of spinning at most.
  package static let mostFutile = 8
  /// For how many sleeps spins rest: twice as long each time that the one spin after a rest was futile, too.
  package static let rests: ClosedRange<Int> = 64...4_096
  /// After so many yields the processor counts as free. Chosen: some 6 ms of spinning, two slices of another thread.
  package static let enoughFreeYields = 30

  package init() {}

  /// Whether a spin may begin before the next sleep.
  package mutating func begins() -> Bool {
    guard rest > 0 else { return true }
    rest -= 1
    return false
  }

  /// Learns at a yield whether the processor was free. Spins rest if not: no other thread shall pay for them.
  package mutating func learn(wasFree: Bool) {
    freeYields = wasFree ? min(freeYields + 1, Self.enoughFreeYields) : 0
    if !wasFree { beginRest() }
  }

  /// Learns after how many nanoseconds the loop was woken that spun; nil if it was not.
  package mutating func learn(wokenAfter nanoseconds: Int64?) {
    if let nanoseconds {
      futile = 0
      if freeYields == Self.enoughFreeYields { nextRest = Self.rests.lowerBound }
      let wanted = min(max(4 * nanoseconds, Self.patiences.lowerBound), Self.patiences.upperBound)
      patience += (wanted - patience) / 8
      return
    }
    futile += 1
    if futile >= Self.mostFutile { beginRest() }
  }

  private mutating func beginRest() {
    rest = nextRest
    nextRest = min(2 * nextRest, Self.rests.upperBound)
    // One spin after the rest shows whether it pays again.
    futile = Self.mostFutile - 1
    patience = Self.patiences.upperBound
  }
}

/// Whether a loop may spin that was given no budget: posts end its sleeps as soon as a spin would see them. *loop thread*
///
/// A pure machine: its input is when a sleep begins and how many sleeps posts have ended, and it reads no clock. A sleep
/// that follows on another wakeup than a post's needs no answer, and no clock.
package struct Dialogue: Equatable, Sendable {
  /// How many sleeps posts had ended when it was asked last, and when that was.
  package private(set) var posts: UInt64 = 0
  private var lastTime = Instant(nanoseconds: 0)
  /// How many posts came soon after the one before, one after the other.
  private var count = 0

  /// So many in a row are a dialogue. Chosen: a daemon that is woken now and then has one or two.
  package static let enough = 4

  package init() {}

  /// A sleep is about to begin. Whether it may be one of a dialogue.
  package mutating func answers(at time: Instant, posts: UInt64) -> Bool {
    if posts == self.posts { return false }
    let isSoon = time.nanoseconds - lastTime.nanoseconds <= BusyPollPolicy.patiences.upperBound
    count = isSoon ? min(count + 1, Self.enough) : 0
    (lastTime, self.posts) = (time, posts)
    return count == Self.enough
  }
}
