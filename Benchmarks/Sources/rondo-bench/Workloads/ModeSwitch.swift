import CBench

/// Runs of one turn, alternately in two modes that hold 10,000 idle items each.
struct ModeSwitch: Workload {
  let name = "mode.switch"
  let summary = "one turn alternately in two modes, each with 5,000 sources and 5,000 timers that stay idle: a run"

  func plan(_ effort: Effort) -> Plan {
    switch effort {
    case .quick: Plan(rounds: 10, size: 200)
    case .full: Plan(rounds: 15, size: 2000)
    }
  }

  func round(of subject: any Subject, size: Int) throws(Refusal) -> Round {
    try LoopThread.run(subject) { handle throws(Refusal) in
      let loop = handle.loop
      try loop.fillModes(Self.items)
      // The first turn in a mode takes over what was added.
      for index in 0..<20 { loop.poll(inMode: index % 2) }
      let begin = bench_now()
      for index in 0..<size { loop.poll(inMode: index % 2) }
      return Round([Part(value: Double(bench_now() - begin) / Double(size))])
    }
  }

  private static let items = 10_000
}
