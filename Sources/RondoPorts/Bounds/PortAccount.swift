import Synchronization

/// What the peers of one port have made it hold, in bytes of memory. Any thread.
package final class PortAccount: Sendable {
  /// *constant* More than this is too much.
  package let limit: Int
  /// *atomic* Messages under way, read ahead, and answers that nobody has taken yet.
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

  /// Whether somebody has to go.
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

/// One connection's part of an account; given back with the last reference. Any thread, but for the marks.
package final class PortShare: Sendable {
  private let account: PortAccount
  /// *atomic* What the connection's buffers take.
  private let bytes = Atomic<Int>(0)
  /// *atomic* The account's count when the connection last moved on.
  private let lastMove: Atomic<Int>
  /// *atomic* `lastMove` when the loop's thread last looked.
  private let mark = Atomic<Int>(-1)
  /// *atomic* `lastMove` if it was the same at two looks, one after the other.
  private let stillMark = Atomic<Int>(-1)

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

  /// Whether nothing has moved from one look to the next, nor since.
  package var isStill: Bool { stillMark.load(ordering: .relaxed) == age }

  /// Looks: asked at intervals, `isStill` means that nothing has moved for one at least.
  package func look() {
    let age = age
    let isSame = mark.exchange(age, ordering: .relaxed) == age
    stillMark.store(isSame ? age : -1, ordering: .relaxed)
  }
}
