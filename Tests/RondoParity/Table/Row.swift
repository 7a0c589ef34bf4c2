/// One row of the behaviour table: a scenario and what it must leave behind.
package struct Row: Sendable, CustomStringConvertible {
  package var id: String
  package var scenario: Scenario
  /// The trace of the real CFRunLoop; nil where the row cannot be put to it.
  package var cf: String?
  package var rondo: String
  /// The decision that makes the two traces differ; nil means they are compared.
  package var decision: String?
  /// The least ages, in milliseconds, at which a name may be called: nothing may be early.
  package var notBefore: [String: [Double]]

  package var description: String { id }

  /// What is wrong with an outcome of this row, or nil.
  package func complaint(about outcome: Outcome, of subject: Subject) -> String? {
    guard let expected = subject == .cf ? cf : rondo else { return nil }
    if outcome.text != expected { return "\(id) on \(subject):\n  expected \(expected)\n  found    \(outcome.text)" }
    for (name, least) in notBefore {
      let ages = outcome.ages(of: name)
      // A fifth of a millisecond: CFRunLoop's dates are doubles of seconds since 2001.
      guard let index = zip(ages, least).enumerated().first(where: { $0.element.0 < $0.element.1 - 0.2 })?.offset else {
        continue
      }
      return "\(id) on \(subject): \(name) was called after \(ages[index]) ms, before \(least[index]) ms"
    }
    return nil
  }

  /// Runs the row until the outcome is right, at most `attempts` times: a loaded machine may disturb any single one.
  ///
  /// A run that noticed that the machine was late says nothing and does not count, but for `mostLate` of them.
  package func verdict(
    on subject: Subject, attempts: Int = 5, mostLate: Int = 60, run: (Scenario, Subject) -> Outcome
  ) -> String? {
    var complaint: String?
    var (counted, late) = (0, 0)
    while counted < attempts, late < mostLate {
      let outcome = run(scenario, subject)
      complaint = self.complaint(about: outcome, of: subject)
      if complaint == nil { return nil }
      if outcome.quirks.contains("late") { late += 1 } else { counted += 1 }
    }
    return complaint
  }
}

/// A row whose trace both loops must show.
func row(
  _ id: String, _ items: [Scenario.Item], _ steps: [Scenario.Action], on scripts: [Scenario.Script] = [],
  helper: [Scenario.Timed] = [], notBefore: [String: [Double]] = [:], _ trace: String
) -> Row {
  let scenario = Scenario(items, steps, on: scripts, helper: helper)
  return Row(id: id, scenario: scenario, cf: trace, rondo: trace, decision: nil, notBefore: notBefore)
}

/// A row on which Rondo decided otherwise: each loop has its own trace.
func row(
  _ id: String, _ items: [Scenario.Item], _ steps: [Scenario.Action], on scripts: [Scenario.Script] = [],
  helper: [Scenario.Timed] = [], notBefore: [String: [Double]] = [:], decision: String, cf: String?, rondo: String
) -> Row {
  let scenario = Scenario(items, steps, on: scripts, helper: helper)
  return Row(id: id, scenario: scenario, cf: cf, rondo: rondo, decision: decision, notBefore: notBefore)
}

/// The whole table.
package enum Table {
  /// Rows both loops are compared on, each on a fresh thread.
  package static let compared: [Row] =
    entry + wakeups + blocks + observers + sources + ports + timers + common + nesting

  /// Rows that need the main thread of a process of their own.
  package static let mainThread: [Row] = mainQueue

  /// Every row by id.
  package static let all: [Row] = compared + excluded + mainQueue
}
