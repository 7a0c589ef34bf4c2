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
  /// Decisions after which a trace of the oracle says nothing about Rondo.
  /// A wake left over by an outermost run (Q3) is taken away by the oracle's driver, so it can stay.
  package static let incomparable: Set<String> = ["Q1", "Q4", "Q5", "Q7", "Q11"]

  /// What the oracle did that need not show in its trace, and excuses only a difference: a mode's timer descriptor that
  /// stood for another date than its next timer's, a one-shot timer set again in its callout, a question for the signal
  /// of an invalid source, a source that left several modes at once, another thread's wake that stood beside a due timer,
  /// a due timer that joins a mode in another one's callout.
  package static let excuses: Set<String> = [
    "Q8 timers", "Q11 timers", "one-shot", "signal of an invalid source", "order of modes",
    "adding from another thread", "re-added timer",
  ]

  package enum Verdict: Sendable {
    case same
    /// The oracle did what Rondo decided against.
    case excluded(Set<String>)
    case different(Difference)
    /// Traces that change from run to run: the machine is too busy, or a loop is not deterministic.
    case unsettled(Difference)
    /// They differ, and on one of them the machine was late: it says nothing.
    case late
  }

  /// One run on each loop.
  package static func quick(_ scenario: Scenario) -> Verdict {
    let cf = Execution.run(scenario, on: .cf)
    let quirks = cf.quirks.intersection(incomparable)
    guard quirks.isEmpty else { return .excluded(quirks) }
    let rondo = Execution.run(scenario, on: .rondo)
    if cf.text == rondo.text { return .same }
    let excuses = cf.quirks.intersection(excuses)
    guard excuses.isEmpty else { return .excluded(excuses) }
    if !cf.quirks.union(rondo.quirks).isDisjoint(with: ["late"]) { return .late }
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
      if case .late = verdict { continue }
      guard case .different(let difference) = verdict else { return verdict }
      if let known = first, known.cf == difference.cf, known.rondo == difference.rondo {
        repeats += 1
        if repeats == needed { return verdict }
      } else {
        first = difference
        repeats = 1
      }
    }
    return first.map { .unsettled($0) } ?? .late
  }
}

/// Many random scenarios, compared on several threads.
package struct Campaign: Sendable {
  package var seed: UInt64
  package var count: Int
  /// Sleeping scenarios overlap; more threads would only disturb the timed ones.
  package var workers = 16

  /// Only scenarios of this flavour.
  package var flavour: String?

  package init(seed: UInt64, count: Int, flavour: String? = nil) {
    self.seed = seed
    self.count = count
    self.flavour = flavour
  }

  package struct Report: Sendable {
    package var differences: [Difference] = []
    package var unsettled: [Difference] = []
    /// How many scenarios gave both loops the same trace.
    package var compared = 0
    /// How often a scenario was replaced, by the decision that made it worthless.
    package var excluded: [String: Int] = [:]
    /// How many scenarios were put to both loops once more because the machine had been late.
    package var repeated = 0
    /// How many scenarios never got a machine in time.
    package var undecided = 0
  }

  /// Longer than any campaign.
  private static let wholeDay = 86_400

  /// More replacements than one number ever needs.
  private static let mostAttempts = 100
  /// Later than this, a scenario waits until the others are through.
  private static let mostRepeats = 5

  package func run(progress: (@Sendable (Int) -> Void)? = nil) -> Report {
    let shared = Shared()
    let threads = (0..<workers).map { _ in
      FreshThread { work(shared, progress) }
    }
    for thread in threads { _ = thread.join(seconds: Self.wholeDay) }
    // Alone, so that only the loops themselves can make them differ.
    var result = shared.report.withLock { $0 }
    for suspect in shared.suspects.withLock({ $0.sorted { $0.number < $1.number } }) {
      let scenario = Generator.scenario(seed: seed, number: suspect.number, attempt: suspect.attempt, flavour: flavour)
      switch Comparison.confirmed(scenario, tries: suspect.tries) {
      case .different(let difference): result.differences.append(difference)
      case .unsettled(let difference): result.unsettled.append(difference)
      case .late: result.undecided += 1
      case .same: result.compared += 1
      case .excluded: break
      }
    }
    return result
  }

  private final class Shared: Sendable {
    let next = Atomic(0)
    let report = Mutex(Report())
    let suspects = Mutex<[(number: Int, attempt: Int, tries: Int)]>([])
  }

  private func work(_ shared: Shared, _ progress: (@Sendable (Int) -> Void)?) {
    while true {
      let number = shared.next.add(1, ordering: .relaxed).oldValue
      guard number < count else { return }
      progress?(number)
      var attempt = 0
      attempts: for turn in 0..<Self.mostAttempts {
        let scenario = Generator.scenario(seed: seed, number: number, attempt: attempt, flavour: flavour)
        switch Comparison.quick(scenario) {
        case .same:
          shared.report.withLock { $0.compared += 1 }
          break attempts
        case .excluded(let quirks):
          shared.report.withLock { report in
            for quirk in quirks { report.excluded[quirk, default: 0] += 1 }
          }
          attempt += 1
        case .late where turn < Self.mostRepeats: shared.report.withLock { $0.repeated += 1 }
        case .late:
          shared.suspects.withLock { $0.append((number, attempt, tries: Self.mostRepeats)) }
          break attempts
        case .different, .unsettled:
          shared.suspects.withLock { $0.append((number, attempt, tries: 4 * Self.mostRepeats)) }
          break attempts
        }
      }
    }
  }
}
