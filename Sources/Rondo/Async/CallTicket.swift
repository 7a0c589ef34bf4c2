import CLinux
import Synchronization

/// What became of a call to another thread.
package enum CallOutcome<Value, Failure: Error> {
  case value(Value)
  case failure(Failure)
  /// The block died without having run.
  case dropped

  package func get() throws(Loop.CallError<Failure>) -> Value {
    switch self {
    case .value(let value): return value
    case .failure(let failure): throw .body(failure)
    case .dropped: throw .loopEnded
    }
  }
}

/// A call that is answered exactly once: when its body has run, or when it dies without.
///
/// A block may be refused, thrown away or lost with its loop; all of these end here, in `deinit`.
package final class CallTicket<Value, Failure: Error> {
  private var body: (() throws(Failure) -> Value)?
  private var answer: ((CallOutcome<Value, Failure>) -> Void)?

  package init(_ body: @escaping () throws(Failure) -> Value, _ answer: @escaping (CallOutcome<Value, Failure>) -> Void)
  {
    self.body = body
    self.answer = answer
  }

  deinit {
    body = nil
    answer?(.dropped)
  }

  /// Runs the body and answers. Calls out.
  package func run() {
    let outcome = runBody()
    let answer = self.answer.take()
    answer?(outcome)
  }

  /// Frees the body before it returns, and so before the answer, after which a caller that lent it takes it back.
  @inline(never)
  private func runBody() -> CallOutcome<Value, Failure> {
    guard let body = body.take() else { return .dropped }
    do { return .value(try body()) } catch { return .failure(error) }
  }
}

/// Where a thread sleeps until its call is answered.
package final class Answer<Value, Failure: Error> {
  private var outcome: CallOutcome<Value, Failure>?
  /// *atomic* 1 when the outcome is there.
  private let isGiven = Atomic<UInt32>(0)

  package init() {}

  /// Any thread, once.
  package func give(_ outcome: CallOutcome<Value, Failure>) {
    self.outcome = outcome
    isGiven.store(1, ordering: .releasing)
    unsafe rondo_futex_wake(unsafe isGiven.address())
  }

  /// Whether there is an outcome. Any thread.
  var isThere: Bool { isGiven.load(ordering: .acquiring) != 0 }

  package func wait() -> CallOutcome<Value, Failure> {
    while !isThere { unsafe rondo_futex_wait(unsafe isGiven.address(), 0) }
    return outcome!
  }
}
