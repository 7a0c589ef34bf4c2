import CLinux

/// 7. The last bit of the way to a precise timer's date.
extension LoopCore {
  /// When to end the sleep so that the rest of the way to the next precise date can be spun; `deadline` if it cannot.
  ///
  /// Only asked when a precise timer stands in the mode.
  @inline(never)
  func alarm(before deadline: Instant, in mode: ModeState) -> Instant {
    assertOwnThread()
    let date = mode.timers.nextPreciseDate(in: slots)
    guard date != .distantFuture, wait.canSpin else { return deadline }
    forgetClock()
    let alarm = date.advanced(by: -spinPlan.margin)
    guard alarm < deadline else { return deadline }
    guard spinPlan.affords(loop.spinBudget, at: max(alarm, now)) else {
      counters.spinsDenied.count()
      return deadline
    }
    return alarm
  }

  /// Spins until `deadline`, and looks at the kernel now and then: whatever would end a sleep ends it as well.
  func spin(_ frame: RunFrame, until deadline: Instant) {
    assertOwnThread()
    let start = wait.now
    // The kernel has not been asked in this wait if the loop came too close to the date for a sleep.
    var nextLook = frame.turn.hasSlept ? start.advanced(by: Self.lookEvery) : start
    counters.spins.count()
    var time = start
    while time < deadline, !wakeup.has([.wake, .stop, .stopRequest]) {
      if time >= nextLook, time.advanced(by: Self.lookTakes) < deadline || nextLook == start {
        waitCount += 1
        _ = wait.wait(frame, until: .distantPast, blocks: false)
        if !frame.ready.isEmpty || frame.turn.isMainQueueReady { break }
        nextLook = wait.now.advanced(by: Self.lookEvery)
      }
      rondo_relax()
      time = wait.now
    }
    readClock()
    let spun = now.nanoseconds - start.nanoseconds
    spinPlan.book(spun, at: start)
    counters.nanosecondsSpinning.count(UInt64(spun))
    applyMail()
    absorbPosts()
  }

  /// Nanoseconds between two looks at the kernel, and what one may take: the last is over before the date.
  private static let lookEvery: Int64 = 10_000
  private static let lookTakes: Int64 = 3_000
}
