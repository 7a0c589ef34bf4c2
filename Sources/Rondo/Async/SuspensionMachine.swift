/// Of several events that may resume a task, lets the first do it. A pure machine.
package struct SuspensionMachine<Waiter, Outcome> {
  private enum State {
    case fresh
    /// Over before the task was suspended.
    case early(Outcome)
    case waiting(Waiter)
    case over
  }

  package enum Action {
    case none
    case resume(Waiter, Outcome)
  }

  private var state = State.fresh
  private var isClaimed = false

  package init() {}

  package mutating func begin(_ waiter: Waiter) -> Action {
    switch state {
    case .fresh:
      state = .waiting(waiter)
      return .none
    case .early(let outcome):
      state = .over
      return .resume(waiter, outcome)
    case .waiting, .over:
      preconditionFailure("A task waits once.")
    }
  }

  /// Whether it is not over; from here on, cancellation does nothing.
  package mutating func claim() -> Bool {
    switch state {
    case .fresh, .waiting:
      isClaimed = true
      return true
    case .early, .over:
      return false
    }
  }

  package mutating func end(_ outcome: Outcome) -> Action {
    switch state {
    case .fresh:
      state = .early(outcome)
      return .none
    case .waiting(let waiter):
      state = .over
      return .resume(waiter, outcome)
    case .early, .over:
      return .none
    }
  }

  package mutating func cancel(_ outcome: Outcome) -> Action {
    isClaimed ? .none : end(outcome)
  }
}
