import CBench

/// Runs one workload over the subjects, round by round.
///
/// Interleaved, so that what the machine does meanwhile meets every subject alike; and each round begins with another
/// subject, so that none always follows the same one.
struct Contest {
  let workload: any Workload
  let subjects: [any Subject]
  let plan: Plan
  /// Whether to count system calls too.
  let counts: Bool
  /// How many seconds one subject may take; past them it makes no further rounds.
  let budget: Double

  /// What became of one subject in one part of the workload.
  enum Standing {
    case measured(Tally)
    case refused(Refusal)
  }

  /// How one part of the workload ended.
  struct Outcome {
    var workload: String
    var standings: [(subject: String, standing: Standing)]
  }

  func run(_ progress: inout Progress) -> [Outcome] {
    var results = subjects.map { subject in
      Results(workload.parts, refusal: (workload.obstacle.map { .cannot($0) }) ?? subject.absence.map { .absent($0) })
    }
    for round in 0..<(plan.discarded + plan.rounds) {
      let order = subjects.indices.map { ($0 + round) % subjects.count }
      switch plan.placement {
      case .here:
        for index in order {
          progress.step(describe(round, subjects[index].name))
          guard results[index].refusal == nil, results[index].seconds < budget else { continue }
          let begin = bench_now()
          let outcome = Result { () throws(Refusal) in try workload.round(of: subjects[index], size: plan.size) }
          results[index].seconds += Double(bench_now() - begin) / 1e9
          // A first round that used everything up is all there will be.
          results[index].take(outcome, counting: round >= plan.discarded || results[index].seconds >= budget)
        }
      case .apart:
        progress.step(describe(round, "every subject in a process of its own"), count: subjects.count)
        let present = order.filter { results[$0].refusal == nil }
        let outcomes = Child.each(present) { index in
          Child.round(of: workload, subjects[index], size: plan.size)
        }
        for (index, outcome) in zip(present, outcomes) {
          results[index].take(outcome, counting: round >= plan.discarded)
        }
      }
    }
    countSystemCalls(&results, &progress)
    return workload.parts.map { part in
      Outcome(
        workload: part.isEmpty ? workload.name : "\(workload.name).\(part)",
        standings: zip(subjects, results).map { ($0.name, $1.standing(of: part)) })
    }
  }

  /// How many steps of progress a run takes.
  var steps: Int { (plan.discarded + plan.rounds) * subjects.count + (countsHere ? subjects.count : 0) }

  private var countsHere: Bool { counts && workload.counting != nil }

  private func describe(_ round: Int, _ subject: String) -> String {
    "\(workload.name) round \(round + 1)/\(plan.discarded + plan.rounds) \(subject)"
  }

  private func countSystemCalls(_ results: inout [Results], _ progress: inout Progress) {
    guard countsHere, let counting = workload.counting else { return }
    progress.step("\(workload.name) under strace", count: subjects.count)
    let present = subjects.indices.filter { results[$0].refusal == nil }
    let counts = Child.each(present) { index in Child.systemCalls(of: workload, subjects[index], counting) }
    for (index, count) in zip(present, counts) {
      results[index].takeSystemCalls(count, counting)
    }
  }
}

/// One subject's results in every part of a workload.
private struct Results {
  private(set) var refusal: Refusal?
  var seconds = 0.0
  private var tallies: [String: Tally]
  private var refusals: [String: Refusal] = [:]
  private let first: String

  init(_ parts: [String], refusal: Refusal?) {
    self.refusal = refusal
    first = parts[0]
    tallies = Dictionary(uniqueKeysWithValues: parts.map { ($0, Tally()) })
  }

  mutating func take(_ outcome: Result<Round, Refusal>, counting: Bool) {
    switch outcome {
    case .success(let round):
      for part in round.parts {
        if let refusal = part.refusal {
          refusals[part.name] = refusal
        } else if counting {
          tallies[part.name]?.add(part)
        }
      }
    case .failure(let refusal):
      self.refusal = refusal
    }
  }

  mutating func takeSystemCalls(_ count: Result<Double, Refusal>, _ counting: Counting) {
    switch count {
    case .success(let value):
      tallies[first]?.add(Gauge(metric: counting.metric, unit: "calls", value: value))
    case .failure(let refusal):
      tallies[first]?.remark("\(counting.metric) \(refusal.note)")
    }
  }

  func standing(of part: String) -> Contest.Standing {
    if let refusal = refusal ?? refusals[part] { return .refused(refusal) }
    return .measured(tallies[part] ?? Tally())
  }
}
