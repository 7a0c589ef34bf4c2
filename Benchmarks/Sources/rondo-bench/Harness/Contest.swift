/// Runs one workload over the subjects, round by round.
///
/// Interleaved, so that what the machine does meanwhile meets every subject alike; and each round begins with another
/// subject, so that none always follows the same one.
struct Contest {
  let workload: any Workload
  let subjects: [any Subject]
  let plan: Plan

  /// What became of one subject.
  enum Standing {
    case measured(Tally)
    case refused(Refusal)
  }

  func run(_ progress: inout Progress) -> [(subject: String, standing: Standing)] {
    var tallies = subjects.map { _ in Tally() }
    var refusals = subjects.map { subject -> Refusal? in
      (workload.obstacle.map { .cannot($0) }) ?? subject.absence.map { .absent($0) }
    }
    for round in 0..<(plan.discarded + plan.rounds) {
      for offset in subjects.indices {
        let index = (offset + round) % subjects.count
        progress.step("\(workload.name) round \(round + 1)/\(plan.discarded + plan.rounds) \(subjects[index].name)")
        guard refusals[index] == nil else { continue }
        do throws(Refusal) {
          let figures = try workload.round(of: subjects[index], size: plan.size)
          if round >= plan.discarded { tallies[index].add(figures) }
        } catch {
          refusals[index] = error
        }
      }
    }
    return subjects.indices.map { index in
      (subjects[index].name, refusals[index].map { .refused($0) } ?? .measured(tallies[index]))
    }
  }

  /// How many steps of progress a run takes.
  var steps: Int { (plan.discarded + plan.rounds) * subjects.count }
}
