import Rondo

/// A timeout of one loop, and what it is to do. The loop's thread.
final class Alarm {
  let timeout: Loop.Timeout
  private let plan: Plan

  /// When it shall fire, if it is armed; known to its handler.
  private final class Plan {
    var due: SuspendingClock.Instant?
  }

  init(_ loop: Loop, in mode: Loop.Mode, tolerance: Duration, _ ledger: Ledger, _ body: @escaping () -> Void) {
    let plan = Plan()
    let witness = Witness(ledger.items)
    self.plan = plan
    timeout = loop.makeTimeout(tolerance: tolerance, in: mode) {
      ledger.callouts.add()
      if let due = plan.due {
        if SuspendingClock().now < due { ledger.fail("a timeout fired before its date") }
      } else {
        ledger.fail("a timeout fired that was not armed")
      }
      plan.due = nil
      withExtendedLifetime(witness, body)
    }
  }

  func arm(_ loop: Loop, after delay: Duration) {
    // Before the loop reads the clock, so that a fire is never before it.
    let due = SuspendingClock().now + delay
    if loop.arm(timeout, after: delay) { plan.due = due }
  }

  func disarm(_ loop: Loop) {
    loop.disarm(timeout)
    plan.due = nil
  }

  func discard(_ loop: Loop, _ ledger: Ledger) {
    plan.due = nil
    if !loop.discard(timeout) { ledger.fail("a timeout was lost") }
    if loop.arm(timeout, after: .zero) { ledger.fail("a timeout that was discarded can be armed") }
  }
}

extension Round {
  /// On a loop's own thread; elsewhere a block that does it.
  func changeTimeout(_ dice: Dice) {
    guard let loop = dice.loop else {
      crew.pick(dice).loop.perform { [weak self] in
        if let dice = Dice.current, dice.depth < 6 { self?.changeTimeout(dice) }
      }
      return
    }
    if dice.alarms.count < 40, dice.alarms.isEmpty || dice.oneIn(4) {
      let tolerance: Duration = dice.oneIn(2) ? .zero : .microseconds(dice.below(500))
      dice.alarms.append(
        Alarm(loop, in: pickMode(dice), tolerance: tolerance, ledger) { [weak self] in self?.actInCallout(of: nil) })
    }
    let index = dice.below(dice.alarms.count)
    let alarm = dice.alarms[index]
    switch dice.below(10) {
    case 0:
      // Out of the list first: what dies with it may come here.
      dice.alarms.remove(at: index)
      alarm.discard(loop, ledger)
    case 1...2: alarm.disarm(loop)
    default: alarm.arm(loop, after: .microseconds(dice.below(3_000)))
    }
  }
}
