import CLinux
import Synchronization

/// What a loop that may spin has learned of it. *loop thread*
@safe final class Spinner {
  /// When to begin for a precise timer, and the account of all spins.
  @safe @exclusivity(unchecked) var plan = SpinPlan()
  /// Whether to spin before sleeps.
  @safe @exclusivity(unchecked) var policy = BusyPollPolicy()
  /// When the kernel is to be asked although such a spin was woken, and when a spin yields the processor before it begins.
  @safe @exclusivity(unchecked) var nextKernelPoll = Instant.distantPast, nextYield = Instant.distantPast
}

/// 7. The last bit of the way to a precise timer's date, and the moment before a sleep.
extension LoopCore {
  /// Made when the loop first may spin.
  var spinner: Spinner {
    if knownSpinner == nil { knownSpinner = Spinner() }
    return knownSpinner!
  }

  /// Whether a post has ended a sleep since a spin was thought of last.
  @inline(__always)
  var isPosted: Bool { counters.wakeupsByPost.load(ordering: .relaxed) != dialogue.posts }

  /// Spins in the place of a sleep, or has it end earlier to spin then, if the loop may.
  ///
  /// - Parameter alarm: When the sleep is to end.
  /// - Returns: What came of the spin; nil if the loop is to sleep.
  @inline(never)
  func spinBeforeSleep(_ frame: RunFrame, _ alarm: inout Instant) -> Preparation? {
    let deadline = alarm
    if timers.hasPrecise(in: frame.mode) {
      alarm = self.alarm(before: deadline, in: frame.mode)
      if alarm < deadline && alarm <= now {
        spin(frame, until: deadline)
        if endsSleep(frame, deadline) { return .over }
        counters.spuriousWakeups.count()
        return .again
      }
    }
    let allowance = busyPollAllowance.load(ordering: .relaxed)
    guard allowance != 0, wait.kernel != nil else { return nil }
    let start = wait.now
    let isInDialogue = dialogue.answers(at: start, posts: counters.wakeupsByPost.load(ordering: .relaxed))
    guard isInDialogue || allowance > 0 else { return nil }
    return spinForWakeup(frame, from: start, until: alarm, deadline, abs(allowance)) ? .over : nil
  }

  /// Learns from a sleep that was to end before its deadline, to leave the rest to a spin.
  ///
  /// - Returns: Whether it has ended then.
  @inline(never)
  func learnLateness(_ alarm: Instant) -> Bool {
    if now < alarm { return false }
    spinner.plan.learn(lateness: now.nanoseconds - alarm.nanoseconds)
    return true
  }

  /// When to end the sleep so that the rest of the way to the next precise date can be spun; `deadline` if it cannot.
  ///
  /// Only asked when a precise timer stands in the mode.
  func alarm(before deadline: Instant, in mode: ModeState) -> Instant {
    assertOwnThread()
    let date = timers.nextPreciseDate(in: mode)
    guard date != .distantFuture, wait.kernel != nil else { return deadline }
    forgetClock()
    let alarm = date.advanced(by: -spinner.plan.margin)
    guard alarm < deadline else { return deadline }
    guard spinner.plan.affords(spinner.plan.margin, of: loop.spinBudget, at: max(alarm, now)) else {
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
    applyMailAndTakePosts()
  }

  /// Spins for a moment instead of sleeping, in case another processor's thread is about to wake the loop.
  ///
  /// The loop does not count as asleep during the spin, so that a poster wakes it without a system call.
  ///
  /// - Returns: Whether something that concerns the run has come.
  private func spinForWakeup(
    _ frame: RunFrame, from start: Instant, until alarm: Instant, _ deadline: Instant, _ allowance: Int64
  ) -> Bool {
    assertOwnThread()
    guard spinner.policy.begins() else { return false }
    guard spinner.plan.affords(spinner.policy.patience, of: allowance, at: start) else {
      counters.spinsDenied.count()
      return false
    }
    if start >= spinner.nextYield {
      spinner.nextYield = start.advanced(by: Self.yieldInterval)
      let wasFree = rondo_processor_is_free()
      spinner.policy.learn(wasFree: wasFree)
      guard wasFree else { return false }
    }
    // What is ready in the kernel must not wait for the end of a spin; while something is each time, it is asked each time.
    if start >= spinner.nextKernelPoll {
      poll(frame)
      if endsSleep(frame, deadline) { return true }
      spinner.nextKernelPoll = now.advanced(by: Self.kernelPollInterval)
    }
    spin(frame, from: start, until: min(alarm, start.advanced(by: spinner.policy.patience)), pollsFirst: false)
    if wakeup.has(Self.endsSpin) {
      spinner.policy.learn(wokenAfter: now.nanoseconds - start.nanoseconds)
    } else if frame.ready.isEmpty, !frame.turn.isMainQueueReady {
      spinner.policy.learn(wokenAfter: nil)
    }
    applyMailAndTakePosts()
    guard endsSleep(frame, deadline) else { return false }
    // Wakeups that come thick and fast must not keep descriptors waiting.
    if now >= spinner.nextKernelPoll {
      if frame.ready.isEmpty { poll(frame) }
      spinner.nextKernelPoll = now.advanced(by: Self.kernelPollInterval)
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
    spinner.plan.book(spun, at: start, wasWoken: wakeup.has(Self.endsSpin))
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
