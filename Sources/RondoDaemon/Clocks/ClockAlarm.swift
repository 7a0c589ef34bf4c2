import CLinux
import CRondoDaemon
import Glibc
import Rondo

/// A timerfd that is armed for the next of some dates, closed with the last reference to it.
final class ClockAlarm: Sendable {
  /// *constant*
  let clock: ClockTimer.Clock
  /// *constant*
  let descriptor: CInt
  /// *its lock* Armed for what it says.
  private let state: Guarded<State>

  private struct State {
    var machine: ClockMachine
    /// How often it was judged.
    var judgements = 0
  }

  init(_ dates: ClockDates, _ clock: ClockTimer.Clock) throws(ClockError) {
    let descriptor = rondo_clock_timer(clock.kind)
    guard descriptor >= 0 else { throw ClockError(errno: -descriptor) }
    self.clock = clock
    self.descriptor = descriptor
    // Armed before the clock is looked at, for only then does the kernel tell of its being set.
    rondo_clock_arm(descriptor, clock.kind, .max)
    let machine = ClockMachine(dates, now: clock.nanoseconds)
    state = Guarded(State(machine: machine))
    arm(machine)
  }

  deinit {
    rondo_close(descriptor)
  }

  /// The date that is waited for; nil for none any more.
  var next: Int64? { state.withLock { $0.machine.next } }

  /// What is due, and is not told again; nil for nothing, for the clock was set, or another run has told it.
  func take() -> ClockTimer.Tick? {
    while true {
      rondo_clock_drain(descriptor)
      let seen = state.withLock { $0 }
      var machine = seen.machine
      let now = clock.nanoseconds
      // A rule is the user's: asked outside the lock, and again if another run has served the source since.
      let due = machine.judge(now: now)
      let isOurs = state.withLock { state in
        guard state.judgements == seen.judgements else { return false }
        state = State(machine: machine, judgements: seen.judgements + 1)
        arm(machine)
        return true
      }
      guard isOurs else { continue }
      return due.map { due in
        ClockTimer.Tick(scheduled: .nanoseconds(due.date), actual: .nanoseconds(now), missed: due.missed)
      }
    }
  }

  private func arm(_ machine: ClockMachine) {
    let date = machine.next.map { max(1, $0) } ?? 0
    // The clock was set after it was looked at, and the kernel says so only once: due at once is looked at again.
    if rondo_clock_arm(descriptor, clock.kind, date) < 0 { rondo_clock_arm(descriptor, clock.kind, 1) }
  }
}
