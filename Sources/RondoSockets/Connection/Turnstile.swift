internal import Rondo

/// Lets one task at a time through, in the order in which they came. Any thread.
final class Turnstile: Sendable {
  private struct State {
    var isTaken = false
    var queue: [(ticket: Int, waiter: Waiter<Bool>)] = []
    var lastTicket = 0
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
        if state.isTaken { state.queue.append((ticket, waiter)) }
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
    let waiter = state.withLock { state in
      state.queue.firstIndex { $0.ticket == ticket }.map { state.queue.remove(at: $0).waiter }
    }
    waiter?.resume(false)
  }

  /// Lets the next task in.
  func leave() {
    let next = state.withLock { state -> Waiter<Bool>? in
      if !state.queue.isEmpty { return state.queue.removeFirst().waiter }
      state.isTaken = false
      return nil
    }
    next?.resume(true)
  }
}
