/// Serves one kernel event a turn, in order of arrival, as CFRunLoop does: for the comparison with it alone.
///
/// A loop without one serves all that is ready. *loop thread*
struct OneEventPolicy {
  private enum Event {
    case mainQueue, wakeup, timers, descriptor
  }

  /// Leaves the turn the event that came first of what its wait has collected; the rest stays for later turns.
  func choose(_ frame: RunFrame, in core: LoopCore) {
    core.assertOwnThread()
    let event = first(frame, core)
    frame.turn.firesTimers = event == .timers
    if event != .mainQueue { frame.turn.isMainQueueReady = false }
    core.dropReadyDescriptors(frame, from: event == .descriptor ? 1 : 0)
    if event == .wakeup { core.wakes.spend() } else { core.wakes.keep() }
    // CFRunLoop looks again in every turn.
    frame.turn.hasSlept = false
  }

  private func first(_ frame: RunFrame, _ core: LoopCore) -> Event {
    // Found ready before the wait, it goes first every other time.
    if frame.turn.polls, frame.turn.isMainQueueReady, !frame.turn.followsMainQueue { return .mainQueue }
    let fireDate = core.nextDates(in: frame.mode).fire
    let isTimerDue = fireDate <= core.now
    if core.wakes.isWoken, !isTimerDue || fireDate >= core.wakes.wokenAt { return .wakeup }
    if isTimerDue { return .timers }
    return frame.ready.isEmpty ? .mainQueue : .descriptor
  }
}

extension LoopCore {
  var servesOneEventPerTurn: Bool { oneEvent != nil }

  /// When a wakeup arrives, as far as it matters.
  var arrivalTime: Instant { servesOneEventPerTurn ? wait.now : .distantPast }

  /// Likewise for one that came from elsewhere, before this phase.
  var phaseTime: Instant { servesOneEventPerTurn ? now : .distantPast }
}
