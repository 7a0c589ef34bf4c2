internal import Rondo

/// Lets one task at a time through, in the order in which they came. Any thread; each step amortised O(1).
final class Turnstile: Sendable {
  private struct State {
    var isTaken = false
    /// By their tickets.
    var waiting: [Int: Waiter<Bool>] = [:]
    /// The tickets in the order of their waits. Those before `first` have gone in; some of the others have given up.
    var order: [Int] = []
    var first = 0
    var lastTicket = 0

    mutating func append(_ ticket: Int, _ waiter: Waiter<Bool>) {
      if order.count > 2 * waiting.count + 16 {
        order = order[first...].filter { waiting[$0] != nil }
        first = 0
      }
      order.append(ticket)
      waiting[ticket] = waiter
    }

    mutating func removeFirst() -> Waiter<Bool>? {
      while first < order.count {
        first += 1
        if let waiter = waiting.removeValue(forKey: order[first - 1]) { return waiter }
      }
      (order, first) = ([], 0)
      return nil
    }
  }

  /// *its own lock*
  private let state = Guarded(State())

  /// Goes inside, if no task is there.
  func tryToEnter() -> Bool {
    state.withLock { state in
      defer { state.isTaken = true }
      return !state.isTaken
    }
  }

  /// Suspends while another task is inside.
  ///
  /// - Throws: `.wait(.cancelled)`; the task is then not inside.
  nonisolated(nonsending) func enter() async throws(ConnectionError) {
    let ticket = state.withLock { state in
      state.lastTicket += 1
      return state.lastTicket
    }
    let isInside = await Waiter<Bool>.wait(isolation: #isolation) { waiter in
      let isFree = state.withLock { state in
        if state.isTaken { state.append(ticket, waiter) }
        defer { state.isTaken = true }
        return !state.isTaken
      }
      if isFree { return waiter.resume(true) }
      // A cancellation that came before the waiter was there found none.
      if Task.isCancelled { giveUp(ticket) }
    } onCancel: {
      giveUp(ticket)
    }
    if !isInside { throw .wait(.cancelled) }
  }

  private func giveUp(_ ticket: Int) {
    let waiter = state.withLock { $0.waiting.removeValue(forKey: ticket) }
    waiter?.resume(false)
  }

  /// Lets the next task in.
  func leave() {
    let next = state.withLock { state -> Waiter<Bool>? in
      let next = state.removeFirst()
      state.isTaken = next != nil
      return next
    }
    next?.resume(true)
  }
}
