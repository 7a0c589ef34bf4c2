import Rondo
import Synchronization

/// What the peers of one port have made it hold, in bytes of memory. Any thread.
package final class PortAccount: Sendable {
  /// *constant* More than this is too much.
  package let limit: Int
  /// *atomic* Messages under way, read ahead, and answers that were not taken yet.
  private let buffered = Atomic<Int>(0)
  /// *atomic* Requests that were handed over and are not answered yet.
  private let kept = Atomic<Int>(0)
  /// *atomic* Counts whatever moves on, so that what has stood still longest can be told.
  private let moves = Atomic<Int>(0)

  package init(limit: Int) {
    self.limit = limit
  }

  /// What is held in all.
  package var held: Int { buffered.load(ordering: .relaxed) + kept.load(ordering: .relaxed) }

  /// Whether a connection has to end.
  package var isExceeded: Bool { held > limit }

  /// What a request costs that is kept, beside its bytes: the objects that stand for it. An estimate from above.
  package static let costOfRequest = 512

  /// Takes a request into account; what is kept may be half of the limit, so that it leaves room to receive.
  ///
  /// - Returns: False if that would be too much.
  package func keep(_ bytes: Int) -> Bool {
    let cost = bytes + Self.costOfRequest
    if kept.add(cost, ordering: .relaxed).newValue <= limit / 2 { return true }
    kept.subtract(cost, ordering: .relaxed)
    return false
  }

  /// Undoes `keep`.
  package func letGo(of bytes: Int) {
    kept.subtract(bytes + Self.costOfRequest, ordering: .relaxed)
  }

  fileprivate func change(by bytes: Int) {
    buffered.add(bytes, ordering: .relaxed)
  }

  fileprivate func nextMove() -> Int {
    moves.add(1, ordering: .relaxed).newValue
  }
}

/// One connection's part of an account; given back with the last reference. Any thread.
package final class PortShare: Sendable {
  private let account: PortAccount
  /// *atomic* What the connection's buffers take.
  private let bytes = Atomic<Int>(0)
  /// *atomic* The account's count when the connection last moved on.
  private let lastMove: Atomic<Int>
  /// *its lock* What was the same at looks: `lastMove`, and the numbers of the messages under way.
  private let seen = Guarded((move: Sight(), input: Sight(), output: Sight()))

  /// A number that stands for what is seen, and since when it has been the same.
  private struct Sight {
    var number: Int?
    var since = SuspendingClock.now

    mutating func look(_ number: Int?, at now: SuspendingClock.Instant) {
      if self.number != number { (self.number, since) = (number, now) }
    }

    func lasts(_ time: Duration?, at now: SuspendingClock.Instant) -> Bool {
      guard let time, number != nil else { return false }
      return since.duration(to: now) >= time
    }
  }

  package init(of account: PortAccount) {
    self.account = account
    lastMove = Atomic(account.nextMove())
  }

  deinit {
    account.change(by: -bytes.load(ordering: .relaxed))
  }

  /// What the connection's buffers take.
  package var held: Int { bytes.load(ordering: .relaxed) }

  /// The connection's buffers take this much now. Under the connection's lock.
  package func hold(_ bytes: Int) {
    let old = self.bytes.exchange(bytes, ordering: .relaxed)
    if old != bytes { account.change(by: bytes - old) }
  }

  /// Something came or went.
  package func move() {
    lastMove.store(account.nextMove(), ordering: .relaxed)
  }

  /// Among connections of one account, the smallest has stood still longest.
  package var age: Int { lastMove.load(ordering: .relaxed) }

  /// Whether nothing has moved for so long between looks, nor since the last one.
  package func isStill(for time: Duration?, at now: SuspendingClock.Instant) -> Bool {
    seen.withLock { $0.move.number == age && $0.move.lasts(time, at: now) }
  }

  /// Whether one message has been under way for so long, in one direction, at all looks in that time.
  package func isEndless(for time: Duration?, at now: SuspendingClock.Instant) -> Bool {
    seen.withLock { $0.input.lasts(time, at: now) || $0.output.lasts(time, at: now) }
  }

  /// Whether a peer with something unfinished is to be disconnected.
  ///
  /// - Parameter hasNews: Whether it has done its part, and the loop has not got to it. It helps for a limited time: a
  ///   peer that sends byte after byte always has news.
  package func isTooSlow(
    idle: Duration?, message: Duration?, at now: SuspendingClock.Instant, hasNews: () -> Bool
  ) -> Bool {
    if isEndless(for: message.map { $0 * 2 }, at: now) { return true }
    return (isStill(for: idle, at: now) || isEndless(for: message, at: now)) && !hasNews()
  }

  /// Looks.
  ///
  /// - Parameters:
  ///   - input: The number of the message of which a part has come.
  ///   - output: The number of the message of which a part waits for room.
  package func look(at now: SuspendingClock.Instant, input: Int? = nil, output: Int? = nil) {
    let age = age
    seen.withLock { seen in
      seen.move.look(age, at: now)
      seen.input.look(input, at: now)
      seen.output.look(output, at: now)
    }
  }
}
