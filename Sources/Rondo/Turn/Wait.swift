/// How a loop waits: the kernel through libevent, or a script in virtual time.
///
/// A clock and eight verbs, crossed a few times a turn and never per event. *loop thread*
enum Wait {
  case kernel(KernelWait)
  case scripted(ScriptedWait)

  /// The clock.
  @inline(__always)
  var now: Instant {
    switch self {
    case .kernel(let kernel): kernel.now
    case .scripted(let scripted): scripted.now
    }
  }

  /// Brings the watch of a descriptor source in a mode in line with what it wants.
  func watch(_ source: Loop.DescriptorSource, _ token: Token, in mode: ModeState, _ slots: SlotTable) {
    switch self {
    case .kernel(let kernel): kernel.watch(source, token, in: mode.index, &slots[token].watches)
    case .scripted(let scripted): scripted.watch(source, in: mode)
    }
  }

  /// Forgets a descriptor source in a mode; nothing of it is reported afterwards.
  ///
  /// - Returns: Sources of the same descriptor that turned out to have lost their file.
  func unwatch(
    _ source: Loop.DescriptorSource, _ token: Token, in mode: ModeState, _ slots: SlotTable
  ) -> [RejectedSource] {
    switch self {
    case .kernel(let kernel): kernel.unwatch(source, in: mode.index, &slots[token].watches)
    case .scripted(let scripted): scripted.unwatch(source, in: mode)
    }
  }

  /// Makes the mode the one in which a post finds the loop, before the loop says that it sleeps.
  @inline(__always)
  func choose(_ mode: ModeState, servesMainQueue: Bool) {
    if case .kernel(let kernel) = self { _ = kernel.choose(mode.index, servesMainQueue: servesMainQueue) }
  }

  /// Has the chosen mode's wait end at `date`.
  @inline(__always)
  func arm(_ date: Instant) {
    if case .kernel(let kernel) = self { kernel.arm(date) }
  }

  /// Sleeps in a mode until something is ready, a poster wakes the loop or `deadline`, armed, has come; or polls.
  ///
  /// - Parameter blocks: False to poll.
  /// - Returns: False if a script in virtual time has no further event and there is no deadline. What is ready is in
  ///   `frame`.
  @inline(__always)
  func wait(_ frame: RunFrame, until deadline: Instant, blocks: Bool) -> Bool {
    switch self {
    case .kernel(let kernel):
      let servesMainQueue = frame.run.servesMainQueue
      if kernel.wait(in: frame.mode.index, servesMainQueue, into: &frame.ready, blocks: blocks) {
        frame.turn.isMainQueueReady = true
      }
      return true
    case .scripted(let scripted): return scripted.wait(frame, until: deadline, blocks: blocks)
    }
  }

  /// Has `frame`'s mode keep one descriptor, whatever becomes of its wait set, until `endHosting()`.
  ///
  /// - Returns: A descriptor that can be waited by, or -1 in virtual time.
  func beginHosting(_ frame: RunFrame) -> CInt {
    kernel?.beginHosting(frame.mode.index, frame.run.servesMainQueue) ?? -1
  }

  func endHosting() { kernel?.endHosting() }

  /// Whether `prepare(_:)` has something to do before a wait in the mode.
  @inline(__always)
  func mustPrepare(_ mode: ModeState) -> Bool { kernel?.mustPrepare(mode.index) ?? false }

  /// The kernel's side, unless time is virtual.
  var kernel: KernelWait? { if case .kernel(let kernel) = self { kernel } else { nil } }

  /// Closes every descriptor, or drops the rest of the script.
  func close() {
    kernel?.close()
    if case .scripted(let scripted) = self { scripted.script.close() }
  }
}
