import CLinux
import Synchronization

/// 7. The last bit of the way to a precise timer's date, and the moment before a sleep.
extension LoopCore {
  /// When to end the sleep so that the rest of the way to the next precise date can be spun; `deadline` if it cannot.
  ///
  /// Only asked when a precise timer stands in the mode.
  @inline(never)
  func alarm(before deadline: Instant, in mode: ModeState) -> Instant {
    assertOwnThread()
    let date = nextPreciseDate(in: mode)
    guard date != .distantFuture, wait.kernel != nil else { return deadline }
    forgetClock()
    let alarm = date.advanced(by: -spinPlan.margin)
    guard alarm < deadline else { return deadline }
    guard spinPlan.affords(spinPlan.margin, of: loop.spinBudget, at: max(alarm, now)) else {
      counters.spinsDenied.count()
      return deadline
    }
    return alarm
  }

  /// Spins until `deadline`, and polls now and then: whatever would end a sleep ends it as well.
  func spin(_ frame: RunFrame, until deadline: Instant) {
    assertOwnThread()
    let start = wait.now
    // The kernel has not been asked in this wait if the loop came too close to the date for a sleep.
    spin(frame, from: start, until: deadline, pollsFirst: !frame.turn.hasSlept)
    heedPosts()
  }

  /// Spins for a moment instead of sleeping, in case another processor's thread is about to wake the loop.
  ///
  /// The loop does not count as asleep during the spin, so that a poster wakes it without a system call.
  ///
  /// - Returns: Whether something that concerns the run has come.
  @inline(never)
  func spinForWakeup(_ frame: RunFrame, until alarm: Instant, _ deadline: Instant) -> Bool {
    assertOwnThread()
    guard wait.kernel != nil, busyPollPolicy.begins() else { return false }
    let start = wait.now
    guard spinPlan.affords(busyPollPolicy.patience, of: busyPollAllowance.load(ordering: .relaxed), at: start) else {
      counters.spinsDenied.count()
      return false
    }
    if start >= nextYield {
      nextYield = start.advanced(by: Self.yieldInterval)
      let wasFree = rondo_processor_is_free()
      busyPollPolicy.learn(wasFree: wasFree)
      guard wasFree else { return false }
    }
    // What is ready in the kernel must not wait for the end of a spin; while something is each time, it is asked each time.
    if start >= nextKernelPoll {
      poll(frame)
      if endsSleep(frame, deadline) { return true }
      nextKernelPoll = now.advanced(by: Self.kernelPollInterval)
    }
    spin(frame, from: start, until: min(alarm, start.advanced(by: busyPollPolicy.patience)), pollsFirst: false)
    if wakeup.has(Self.endsSpin) {
      busyPollPolicy.learn(wokenAfter: now.nanoseconds - start.nanoseconds)
    } else if frame.ready.isEmpty, !frame.turn.isMainQueueReady {
      busyPollPolicy.learn(wokenAfter: nil)
    }
    heedPosts()
    guard endsSleep(frame, deadline) else { return false }
    // Wakeups that come thick and fast must not keep descriptors waiting.
    if now >= nextKernelPoll {
      if frame.ready.isEmpty { poll(frame) }
      nextKernelPoll = now.advanced(by: Self.kernelPollInterval)
    }
    return true
  }

  private func spin(_ frame: RunFrame, from start: Instant, until end: Instant, pollsFirst: Bool) {
    var nextPoll = pollsFirst ? start : start.advanced(by: Self.kernelPollInterval)
    counters.spins.count()
    var time = start
    while time < end, !wakeup.has(Self.endsSpin) {
      if time >= nextPoll, time.advanced(by: Self.lookTakes) < end || nextPoll == start {
        _ = collect(frame, until: .distantPast, blocks: false)
        if !frame.ready.isEmpty || frame.turn.isMainQueueReady { break }
        nextPoll = wait.now.advanced(by: Self.kernelPollInterval)
      }
      rondo_relax()
      time = wait.now
    }
    forgetClock()
    let spun = now.nanoseconds - start.nanoseconds
    spinPlan.book(spun, at: start)
    counters.nanosecondsSpinning.count(UInt64(spun))
  }

  /// What ends a spin as it would end a sleep.
  private static let endsSpin: WakeProtocol.Bits = [.wake, .stop, .stopRequest]
  /// Nanoseconds between two polls, and what one may take: the last is over before the date. Chosen: a
  /// poll takes some 300 ns, a thirtieth of the time between, and ten times as much where something is ready.
  private static let kernelPollInterval: Int64 = 10_000
  private static let lookTakes: Int64 = 3_000
  /// Nanoseconds between two yields of the processor, each of which takes some 2 us.
  private static let yieldInterval: Int64 = 200_000
}
