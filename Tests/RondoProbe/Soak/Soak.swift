import Glibc
import Rondo

// Random operations on four loops, in rounds, for SOAK_SECONDS from SEED: `rondo-probe soak`. Each round begins with four
// new loops and ends with nothing left of them. A round's seed decides what each of its threads does; how they interleave
// is up to the scheduler. A seed that a failure names is the first round of the next run with it.

/// A number from the environment; nil without one. Another text is an error.
private func number<Number: LosslessStringConvertible>(_ name: String) -> Number? {
  guard let text = unsafe getenv(name).map({ unsafe String(cString: $0) }), !text.isEmpty else { return nil }
  guard let number = Number(text) else {
    report("soak: \(name)=\(text) is no number")
    exit(2)
  }
  return number
}

/// What the runtime opens once and keeps is open before anything is counted.
private func warmUp() throws {
  let thread = try LoopThread()
  _ = try? thread.sync { 1 }
  let latch = Latch()
  Task { [fuse = Fuse(latch)] in withExtendedLifetime(fuse) {} }
  latch.wait()
  thread.stop()
}

/// A round of five audits, each after a thousand operations of each helper.
private func runRound(
  _ seed: UInt64, until deadline: SuspendingClock.Instant, _ ledger: Ledger, _ watchdog: Watchdog
) throws {
  let round = try Round(seed: seed, ledger: ledger)
  watchdog.watch(round.crew)
  for stage in 0..<5 where SuspendingClock().now < deadline {
    round.stir(1_000, stage: stage)
    round.audit()
  }
  watchdog.watch(nil)
  round.finish()
}

func soak() -> Never {
  // It lasts as long as it is asked to, and its watchdog ends one that hangs.
  alarm(0)
  let seconds: Int = number("SOAK_SECONDS") ?? 600
  let firstSeed: UInt64 = number("SEED") ?? UInt64.random(in: 1...UInt64(UInt32.max))
  report("soak: seed \(firstSeed), \(seconds) s")
  let ledger = Ledger()
  let watchdog = Watchdog(ledger, seed: firstSeed)
  watchdog.start()
  do {
    try warmUp()
    let openBefore = descriptorNames()
    let deadline = SuspendingClock().now + .seconds(seconds)
    let seeds = Dice(seed: firstSeed)
    var seed = firstSeed
    var rounds = 0
    repeat {
      try runRound(seed, until: deadline, ledger, watchdog)
      rounds += 1
      if !eventually({ descriptorNames().count == openBefore.count }) {
        ledger.fail("these descriptors are open: \(descriptorNames()), and before: \(openBefore), seed \(seed)")
      }
      seed = seeds.next()
    } while SuspendingClock().now < deadline && ledger.failureCount == 0

    let counts = """
      \(rounds) rounds, \(ledger.operations.value) operations, \(ledger.moves.value) moves, \
      \(ledger.callouts.value) callouts, \(ledger.turns.value) walks of the invariants, \
      \(ledger.items.births.value) items, \(ledger.replacedLoops.value) loops replaced; blocks: \
      \(ledger.ran.value) ran, \(ledger.refused.value) refused, \(ledger.dropped.value) dropped; \
      \(ledger.tasks.births.value) tasks
      """
    if ledger.failureCount == 0 {
      report("soak: CLEAN: seed \(firstSeed), \(counts)")
      exit(0)
    }
    report("soak: FAILED: \(ledger.failureCount) faults, seed \(firstSeed), \(counts)")
  } catch {
    report("soak: FAILED: \(error)")
  }
  exit(1)
}
