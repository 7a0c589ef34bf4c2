internal import Synchronization

/// A scenario on which the two loops disagree, each agreeing with itself.
package struct Difference: Sendable, CustomStringConvertible {
  package var scenario: Scenario
  package var cf: String
  package var rondo: String

  package var description: String {
    "\(scenario)\nCFRunLoop \(cf)\nRondo     \(rondo)"
  }
}

/// Puts scenarios to both loops.
package enum Comparison {
  /// Decisions after which a trace of the oracle says nothing about Rondo, and a deadline that a busy machine overran.
  /// A wake left over by an outermost run (Q3) is taken away by the oracle's driver, so it can stay.
  package static let incomparable: Set<String> = ["Q1", "Q4", "Q5", "Q7", "Q11", "late"]

  package enum Verdict: Sendable {
    case same
    /// The oracle did what Rondo decided against.
    case excluded(Set<String>)
    case different(Difference)
    /// Traces that change from run to run: the machine is too busy, or a loop is not deterministic.
    case unsettled(Difference)
  }

  /// One run on each loop.
  package static func quick(_ scenario: Scenario) -> Verdict {
    let cf = Execution.run(scenario, on: .cf)
    let quirks = cf.quirks.intersection(incomparable)
    guard quirks.isEmpty else { return .excluded(quirks) }
    let rondo = Execution.run(scenario, on: .rondo)
    if cf.text == rondo.text { return .same }
    return .different(Difference(scenario: scenario, cf: cf.text, rondo: rondo.text))
  }

  /// A difference counts only if each loop shows its trace five times in a row; a loaded machine gets more tries.
  ///
  /// What differs by design differs every time. CFRunLoop's deadlines come from another thread's timer, which on a busy
  /// machine is late by more than scenarios leave between two instants.
  package static func confirmed(_ scenario: Scenario, tries: Int = 20, inARow needed: Int = 5) -> Verdict {
    var first: Difference?
    var repeats = 0
    for _ in 0..<tries {
      let verdict = quick(scenario)
      guard case .different(let difference) = verdict else { return verdict }
      if let known = first, known.cf == difference.cf, known.rondo == difference.rondo {
        repeats += 1
        if repeats == needed { return verdict }
      } else {
        first = difference
        repeats = 1
      }
    }
    return first.map { .unsettled($0) } ?? .same
  }
}

/// Many random scenarios, compared on several threads.
package struct Campaign: Sendable {
  package var seed: UInt64
  package var count: Int
  /// Sleeping scenarios overlap; more threads would only disturb the timed ones.
  package var workers = 16

  package init(seed: UInt64, count: Int) {
    self.seed = seed
    self.count = count
  }

  package struct Report: Sendable {
    package var differences: [Difference] = []
    package var unsettled: [Difference] = []
    /// How often a scenario was replaced, by the decision that made it worthless.
    package var excluded: [String: Int] = [:]
  }

  /// Longer than any campaign.
  private static let wholeDay = 86_400

  /// More replacements than one number ever needs.
  private static let mostAttempts = 100

  package func run(progress: (@Sendable (Int) -> Void)? = nil) -> Report {
    let shared = Shared()
    let threads = (0..<workers).map { _ in
      FreshThread { work(shared, progress) }
    }
    for thread in threads { _ = thread.join(seconds: Self.wholeDay) }
    // Alone, so that only the loops themselves can make them differ.
    var result = shared.report.withLock { $0 }
    for suspect in shared.suspects.withLock({ $0.sorted { $0.number < $1.number } }) {
      let scenario = Generator.scenario(seed: seed, number: suspect.number, attempt: suspect.attempt)
      switch Comparison.confirmed(scenario) {
      case .different(let difference): result.differences.append(difference)
      case .unsettled(let difference): result.unsettled.append(difference)
      case .same, .excluded: break
      }
    }
    return result
  }

  private final class Shared: Sendable {
    let next = Atomic(0)
    let report = Mutex(Report())
    let suspects = Mutex<[(number: Int, attempt: Int)]>([])
  }

  private func work(_ shared: Shared, _ progress: (@Sendable (Int) -> Void)?) {
    while true {
      let number = shared.next.add(1, ordering: .relaxed).oldValue
      guard number < count else { return }
      progress?(number)
      attempts: for attempt in 0..<Self.mostAttempts {
        switch Comparison.quick(Generator.scenario(seed: seed, number: number, attempt: attempt)) {
        case .same: break attempts
        case .excluded(let quirks):
          shared.report.withLock { report in
            for quirk in quirks { report.excluded[quirk, default: 0] += 1 }
          }
        case .different, .unsettled:
          shared.suspects.withLock { $0.append((number, attempt)) }
          break attempts
        }
      }
    }
  }
}
