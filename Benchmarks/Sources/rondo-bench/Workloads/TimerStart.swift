import CBench

/// Many timers that exist already: starting each, putting each off, stopping each, and letting all come due.
///
/// Nothing is made or freed while the clock runs. Stopping goes in an order of its own and includes one turn after it, so
/// that work put off is not work saved. Those that fire have been put off once before, for the same reason.
struct TimerStart: Workload {
  private let count: Int

  init(_ count: Int) {
    self.count = count
  }

  var name: String { "timer.start.\(count)" }
  var summary: String { "\(count) timers that exist: start, extend the deadline, stop, fire all; each by timer" }
  var parts: [String] { ["start", "extend", "stop", "fire"] }

  func plan(_ effort: Effort) -> Plan { ManyTimers.plan(count, effort) }

  func round(of subject: any Subject, size: Int) throws(Refusal) -> Round {
    try ManyTimers.round(of: subject, size: size) { many throws(Refusal) in
      let (loop, counter) = (many.loop, many.counter)
      let timers = try loop.makeTimers(size, counter.call)
      defer { timers.free() }
      loop.poll()
      // Dues are made before the clock starts.
      let (origin, hour) = (bench_now() + ManyTimers.hour, ManyTimers.hour)
      let (far, farther) = (many.dues.dues(from: origin, within: hour), many.dues.later(from: origin, within: hour))

      let start = bench_now()
      timers.start(far)
      let extend = bench_now()
      timers.start(farther)
      let stop = bench_now()
      timers.stop(many.dues.order)
      loop.poll()
      let stopped = bench_now()
      try counter.check(0)
      let parts = [
        many.part("start", extend - start), many.part("extend", stop - extend), many.part("stop", stopped - stop),
      ]
      if let refusal = many.fireRefusal { return parts + [Part(name: "fire", refusal: refusal)] }

      let (soon, moment) = (many.soon, many.moment)
      timers.start(many.dues.dues(from: soon, within: moment))
      timers.start(many.dues.later(from: soon, within: moment))
      many.waitUntilDue(soon + 2 * moment)
      let fire = bench_now()
      many.fire()
      let fired = bench_now()
      loop.poll()
      try counter.check(size)
      return parts + [many.part("fire", fired - fire)]
    }
  }
}
