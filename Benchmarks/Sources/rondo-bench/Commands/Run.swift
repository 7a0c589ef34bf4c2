import ArgumentParser

extension RondoBench {
  /// Measures, and prints the table.
  struct Run: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Measure and print a table (the default).")

    @Option(name: .long, help: "A workload or a family of them, as 'wake.parked'; may be repeated. Default: all.")
    var workload: [String] = []

    @Option(name: .long, help: "A subject; may be repeated. Default: all.")
    var subject: [String] = []

    @Flag(help: "How long to take.")
    var effort: Effort = .quick

    @Option(name: .long, help: ArgumentHelp("Also write the figures to a file.", valueName: "file"))
    var json: String?

    func validate() throws {
      for name in workload where !Workloads.all.contains(where: { Self.matches($0.name, name) }) {
        throw ValidationError("There is no workload '\(name)'; 'rondo-bench list' prints those there are.")
      }
      for name in subject where !Subjects.all.contains(where: { $0.name == name }) {
        throw ValidationError("There is no subject '\(name)'; 'rondo-bench list' prints those there are.")
      }
    }

    func run() throws {
      let environment = Environment(effort: effort)
      let contests = contests()
      var progress = Progress(total: contests.reduce(0) { $0 + $1.steps })
      var scoreboards: [Scoreboard] = []
      for contest in contests {
        scoreboards.append(Scoreboard(workload: contest.workload.name, standings: contest.run(&progress)))
      }
      progress.clear()
      print(environment.line)
      print("p50: median over rounds; ! and BEHIND: a peer's median is below Rondo's.\n")
      print(Table(scoreboards: scoreboards).text)
      if let json {
        try Report(environment: environment, results: scoreboards.flatMap(\.results)).write(to: json)
      }
      if scoreboards.contains(where: \.hasFailure) { throw ExitCode.failure }
    }

    private func contests() -> [Contest] {
      let subjects = Subjects.all.filter { subject.isEmpty || subject.contains($0.name) }
      return Workloads.all.compactMap { candidate in
        let plan = candidate.plan(effort)
        let isNamed = workload.contains { Self.matches(candidate.name, $0) }
        guard isNamed || (workload.isEmpty && !plan.onRequest) else { return nil }
        return Contest(workload: candidate, subjects: subjects, plan: plan)
      }
    }

    /// Whether a workload is the one named or a member of the family named.
    private static func matches(_ name: String, _ pattern: String) -> Bool {
      name == pattern || name.hasPrefix(pattern + ".")
    }
  }
}

extension Effort: EnumerableFlag {}
