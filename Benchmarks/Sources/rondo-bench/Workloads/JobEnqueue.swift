import CBench

/// Another thread resumes tasks that are suspended on an actor's executor, one job each: time to the end of the last.
struct JobEnqueue: Workload {
  let name = "job.enqueue"
  let summary = "jobs enqueued by another thread on an actor's executor, and run: suspended tasks that go on"

  func plan(_ effort: Effort) -> Plan {
    switch effort {
    // Few enough for a core's cache to hold the suspended tasks.
    case .quick: Plan(rounds: 50, size: 1000)
    case .full: Plan(rounds: 1000, size: 1000)
    }
  }

  func round(of subject: any Subject, size: Int) throws(Refusal) -> Round {
    let host = try subject.openActors()
    let parking = Parking(size)
    host.park(size, parking)
    guard parking.fill(within: 30) else { throw .failed("not every task began") }
    let begin = bench_now()
    guard parking.release(within: 30) else { throw .failed("a job was lost") }
    return Round([Part(value: Double(bench_now() - begin) / Double(size))])
  }
}
