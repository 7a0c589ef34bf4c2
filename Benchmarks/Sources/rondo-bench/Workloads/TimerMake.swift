import CBench

/// Many timers that fire once: making each and adding it, cancelling and freeing each, and letting all come due.
///
/// Every subject allocates each timer by itself, as its users do. Cancelling goes in an order of its own and includes one
/// turn after it, so that work put off is not work saved. A timer that fires is freed as its users free it, and that is
/// part of the time. A loop that has cheaper timeouts beside its timers is a subject of its own.
struct TimerMake: Workload {
  private let count: Int

  init(_ count: Int) {
    self.count = count
  }

  var name: String { "timer.make.\(count)" }
  var summary: String { "\(count) timers that fire once: make and add, cancel and free, fire and free; each by timer" }
  var parts: [String] { ["add", "cancel", "fire"] }

  func plan(_ effort: Effort) -> Plan { ManyTimers.plan(count, effort) }

  func round(of subject: any Subject, size: Int) throws(Refusal) -> Round {
    try ManyTimers.round(of: subject, size: size) { many throws(Refusal) in
      let (loop, counter) = (many.loop, many.counter)
      // Dues and the handler's object are made before the clock starts.
      let (far, call) = (many.dues.dues(from: bench_now() + ManyTimers.hour, within: ManyTimers.hour), counter.call)
      // The allocator has what the subject itself freed, not what the one before it in the round left there.
      var own = try loop.addShots(far, call)
      own.cancel(many.dues.order)
      loop.poll()
      own.free()

      let add = bench_now()
      var shots = try loop.addShots(far, call)
      let cancel = bench_now()
      shots.cancel(many.dues.order)
      loop.poll()
      let cancelled = bench_now()
      shots.free()
      try counter.check(0)
      let parts = [many.part("add", cancel - add), many.part("cancel", cancelled - cancel)]
      if let refusal = many.fireRefusal { return parts + [Part(name: "fire", refusal: refusal)] }

      let soon = many.soon
      var due = try loop.addShots(many.dues.dues(from: soon, within: many.moment), call)
      many.waitUntilDue(soon + many.moment)
      let fire = bench_now()
      many.fire()
      // libuv frees in the turn after.
      loop.poll()
      due.free()
      let fired = bench_now()
      try counter.check(size)
      return parts + [many.part("fire", fired - fire)]
    }
  }
}
