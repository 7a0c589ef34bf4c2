internal import Glibc

/// Executes scenarios.
package enum Execution {
  /// Seconds after which a sleeping loop is woken from outside. Scenarios last less than half of it; CFRunLoop can lose a
  /// deadline to a nested run and would sleep for ever.
  private static let patience = 1
  /// Wakes after which the thread is given up.
  private static let mostRescues = 60

  /// Runs the scenario on a fresh thread, hence on a fresh loop.
  package static func run(_ scenario: Scenario, on subject: Subject) -> Outcome {
    let interpreter = Interpreter(scenario)
    let thread = FreshThread {
      interpreter.interpret(on: engine(subject, host: interpreter))
    }
    for _ in 0..<mostRescues {
      if thread.join(seconds: patience) { return interpreter.outcome() }
      interpreter.rescue()
    }
    thread.abandon()
    return Outcome(tokens: ["hung"])
  }

  /// Runs the scenario on the calling thread; the process must end afterwards, its main loop is used up.
  package static func runHere(_ scenario: Scenario, on subject: Subject) -> Outcome {
    let interpreter = Interpreter(scenario)
    interpreter.interpret(on: engine(subject, host: interpreter))
    return interpreter.outcome()
  }

  /// Runs `body` on a thread nobody used before, hence with a fresh `Loop.current`, and waits for its end.
  package static func onFreshThread(_ body: @escaping @Sendable () -> Void) {
    let thread = FreshThread(body)
    while !thread.join(seconds: patience) {}
  }

  /// Sleeps.
  package static func pause(milliseconds: Double) { Watch.sleep(until: Watch.milliseconds + milliseconds) }

  private static func engine(_ subject: Subject, host: any CalloutHost) -> any Engine {
    switch subject {
    case .cf: CFEngine(host: host)
    case .rondo: RondoEngine(host: host)
    }
  }
}
