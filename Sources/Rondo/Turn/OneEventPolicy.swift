/// Serves one kernel event a turn, in order of arrival, as CFRunLoop does: for the comparison with it alone.
///
/// A loop without one serves all that is ready. *loop thread*
@safe final class OneEventPolicy {
  private enum Event {
    case mainQueue, wakeup, timers, descriptor
  }

  /// Since when each mode's epoll set of a CFRunLoop would list the wakeup descriptor, by the mode's index.
  ///
  /// A set lists it when it is written, and until a wait in that mode comes to it. It keeps that place if another mode
  /// reads the descriptor and a poster writes it again before that.
  private var listed: [Instant?] = []

  /// A wakeup that is not ignored: the descriptor is written.
  fileprivate func noteWakeup(at time: Instant, modeCount: Int) {
    while listed.count < modeCount { listed.append(nil) }
    for index in listed.indices where listed[index] == nil { listed[index] = time }
  }

  /// Leaves the turn the event that came first of what its wait has collected; the rest stays for later turns.
  func choose(_ frame: RunFrame, in core: LoopCore) {
    core.assertOwnThread()
    // What ends a run in time is a timer elsewhere, which wakes the loop.
    if !frame.run.isInstant, frame.run.deadline <= core.now { core.noteWakeup(at: frame.run.deadline) }
    let event = first(frame, core)
    frame.turn.firesTimers = event == .timers
    if event != .mainQueue { frame.turn.isMainQueueReady = false }
    core.dropReadyDescriptors(frame, from: event == .descriptor ? 1 : 0)
    if event == .wakeup { core.wakes.waitEnded() } else { core.wakes.carryOver() }
    // CFRunLoop polls again in every turn.
    frame.turn.hasSlept = false
  }

  private func first(_ frame: RunFrame, _ core: LoopCore) -> Event {
    // Found ready before the wait, it goes first every other time.
    if frame.turn.polls, frame.turn.isMainQueueReady, !frame.turn.followsMainQueue { return .mainQueue }
    let fireDate = core.timers.nextDates(in: frame.mode).fire
    let isTimerDue = fireDate <= core.now
    let index = frame.mode.index
    let listed = index < self.listed.count ? self.listed[index] : nil
    if isTimerDue, fireDate < listed ?? (core.wakes.isWoken ? core.wakes.wokenAt : .distantFuture) { return .timers }
    // The wait comes to the descriptor, and finds that it has been written or that another mode has read it.
    if listed != nil { self.listed[index] = nil }
    if core.wakes.isWoken { return .wakeup }
    if isTimerDue { return .timers }
    return frame.ready.isEmpty ? .mainQueue : .descriptor
  }
}

extension LoopCore {
  var servesOneEventPerTurn: Bool { oneEvent != nil }

  /// When a wakeup on the loop's own thread arrives, as far as it matters.
  func arrivalTime() -> Instant { oneEvent == nil ? .distantPast : noteWakeup(at: wait.now) }

  /// When one arrived that came from elsewhere, before this phase.
  func phaseTime() -> Instant { oneEvent == nil ? .distantPast : noteWakeup(at: now) }

  @discardableResult
  fileprivate func noteWakeup(at time: Instant) -> Instant {
    if wakes.heeds { oneEvent?.noteWakeup(at: time, modeCount: modes.count) }
    return time
  }
}
