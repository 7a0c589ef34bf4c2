extension Report {
  /// Takes in how a workload ended.
  mutating func add(_ outcome: Contest.Outcome) {
    let limit = outcome.standings.lazy.compactMap { subject, standing -> Double? in
      guard subject == Subjects.limit, case .measured(let tally) = standing else { return nil }
      return tally.headline
    }.first
    for (subject, standing) in outcome.standings {
      switch standing {
      case .refused(let refusal):
        refusals.append(Note(workload: outcome.workload, subject: subject, text: refusal.note))
      case .measured(let tally):
        add(tally, of: subject, in: outcome.workload, limit: limit)
      }
    }
  }

  private mutating func add(_ tally: Tally, of subject: String, in workload: String, limit: Double?) {
    func add(_ metric: String, _ unit: String, _ value: Double, _ samples: Int) {
      results.append(
        Result(workload: workload, subject: subject, metric: metric, unit: unit, value: value, samples: samples))
    }
    if let headline = tally.headline {
      add(tally.hasTimes ? "p50" : "median", tally.unit, headline, tally.samples)
      if tally.hasTimes {
        for (metric, value) in tally.tail { add(metric, tally.unit, value, tally.samples) }
        curves.append(Curve(workload: workload, subject: subject, points: Self.points(of: tally)))
      } else if let range = tally.range, tally.rounds > 1 {
        add("best", tally.unit, range.lowerBound, tally.rounds)
        add("worst", tally.unit, range.upperBound, tally.rounds)
      }
      if let limit, limit > 0 { add("ratio", "× raw", headline / limit, tally.rounds) }
      add("rounds", "rounds", Double(tally.rounds), tally.rounds)
    }
    for figure in tally.figures {
      add(figure.gauge.metric, figure.gauge.unit, figure.gauge.value, figure.rounds)
    }
    for remark in tally.remarks { remarks.append(Note(workload: workload, subject: subject, text: remark)) }
  }

  /// Enough of the distribution to draw it: densest where the tail is.
  private static func points(of tally: Tally) -> [Curve.Point] {
    let percents = [0, 1, 5, 10, 20, 25, 30, 40, 50, 60, 70, 75, 80, 85, 90, 92.5, 95, 97, 98, 99, 99.5, 99.9, 100]
    return percents.map { Curve.Point(percent: $0, nanoseconds: tally.percentile($0)) }
  }
}
