/// Rondo's precise timers: it sleeps to a margin before the date and spins the rest, within its budget.
struct RondoPreciseSubject: Subject {
  let name = "rondo.precise"
  let summary = "Loop.Timer with isPrecise; in all else it is rondo"

  func openLoop(posts: Bool) throws(Refusal) -> any BenchLoop {
    throw .cannot("differs from rondo in its timers alone")
  }

  func runTimer(hitting meter: TickMeter) throws(Refusal) {
    RondoSubject.runTimer(hitting: meter, isPrecise: true)
  }
}
