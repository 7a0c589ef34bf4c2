import Synchronization

/// The steps of the turn that call out. Each takes one thing at a time, checks it again right before its callout, and
/// holds nothing across it but copies.
extension LoopCore {
  /// 0, 2, 3, 6, 8, 13. Calls out.
  @inline(__always)
  func callObservers(_ activity: Loop.Activity, _ frame: RunFrame) {
    assertOwnThread()
    if frame.mode.agenda.hasObservers(of: activity) { callObserversPresent(activity, frame) }
  }

  @inline(never)
  private func callObserversPresent(_ activity: Loop.Activity, _ frame: RunFrame) {
    assertOwnThread()
    applyMail()
    counters.pulse.enter(.observers)
    let mode = frame.mode
    let departures = mode.observers.departures
    for entry in mode.observers.entries where entry.activities.contains(activity) {
      guard let observer = entry.observer else { continue }
      // One that is in its callout is skipped by the runs nested in it. One that has left may be another loop's by now.
      guard observer.belongs(to: mode.bit), !isCalling(observer), observer.isValid,
        mode.observers.departures == departures || isInstalled(observer, in: mode)
      else { continue }
      counters.observerCallouts.count()
      frame.calling = ObjectIdentifier(observer)
      if hasDelegate { callOutRecorded(observer, activity) } else { callOutObserver(observer, activity) }
      frame.calling = nil
      if !observer.repeats { observer.invalidate() }
    }
    // What is due is judged after the observers, which may have taken their time or set a timer to now.
    if activity == .afterWaiting { forgetClock() }
  }

  /// Whether a slot of this loop keeps the observer's handler: one that left and was added again may have yet to get one.
  private func isInstalled(_ observer: Loop.Observer, in mode: ModeState) -> Bool {
    guard observer.isIn(loop), let token = slots.token(of: observer) else { return false }
    return slots[token].installed & mode.bit != 0
  }

  /// 4, 11. Blocks, then jobs: a turn that has neither asks once. Calls out.
  @inline(__always)
  func serveWork(_ frame: RunFrame) {
    applyMail()
    guard agenda.contains(.work) else { return }
    drainBlocks(frame)
    serveJobs(frame)
    agenda.note(.work, !blocks.isEmpty || knownJobs?.isEmpty == false)
  }

  /// 4. Runs the queued blocks that match the mode; blocks they queue wait for the next drain. Calls out.
  @inline(__always)
  func drainBlocks(_ frame: RunFrame) {
    assertOwnThread()
    applyMail()
    if !blocks.isEmpty { runBlocks(frame) }
  }

  @inline(never)
  private func runBlocks(_ frame: RunFrame) {
    assertOwnThread()
    guard blocks.isPlain else { return runBlocksByTicket(frame) }
    blocks.takePlain(for: frame.mode, into: &frame.blocks)
    counters.pulse.enter(.blocks)
    for index in frame.blocks.indices { run(frame.blocks[index].take()) }
    frame.blocks.empty()
  }

  /// If the mode becomes common in one of the blocks, later ones that wait for the common modes take part. Calls out.
  private func runBlocksByTicket(_ frame: RunFrame) {
    var drain = blocks.beginDrain()
    var isFirst = true
    while let call = blocks.take(&drain, for: frame.mode) {
      if isFirst { counters.pulse.enter(.blocks) }
      isFirst = false
      run(call)
    }
    blocks.endDrain(drain)
  }

  /// Calls out.
  @inline(__always)
  private func run(_ call: consuming (() -> Void)?) {
    guard let call, !discardsBlocks.load(ordering: .relaxed) else { return }
    counters.blockCallouts.count()
    if hasDelegate { callOutRecorded(call) } else { callOutBlock(call) }
  }

  /// 5. Performs the signalled sources of the mode by order, then by time of signal. Calls out.
  @inline(__always)
  func performSignalledSources(_ frame: RunFrame) {
    assertOwnThread()
    if frame.mode.agenda.contains(.signalled) { performSourcesPresent(frame) }
  }

  @inline(never)
  private func performSourcesPresent(_ frame: RunFrame) {
    assertOwnThread()
    counters.pulse.enter(.sources)
    let mode = frame.mode
    if mode.signalled.tokens.count == 1 { return performOnlySource(mode, frame) }
    // What is signalled from here on has its turn in the next turn, so entries that are served or gone leave first.
    var signalled: [(source: Loop.Source, token: Token)] = []
    mode.signalled.removeAll { token in
      guard let item = slots.item(token) else { return true }
      let source = downcast(item, to: Loop.Source.self)
      guard source.isSignalled, slots[token].installed & mode.bit != 0 else {
        slots[token].pending &= ~mode.bit
        return true
      }
      signalled.append((source, token))
      return false
    }
    signalled.sort { ($0.source.order, $0.source.ticket) < ($1.source.order, $1.source.ticket) }
    wait.permute(&signalled, "signalled source") { $0.source.order == $1.source.order }
    for (source, token) in signalled {
      if slots.holds(token) {
        perform(source, token, frame)
      } else if let seat = source.registration(in: loop), let token = slots.token(of: seat) {
        // It has left the loop and come back since.
        perform(downcast(seat, to: Loop.Source.self), token, frame)
      }
      if frame.turn.hasHandledSource && frame.run.returnsAfterSourceHandled { break }
    }
  }

  /// The usual case. Calls out.
  @inline(__always)
  private func performOnlySource(_ mode: ModeState, _ frame: RunFrame) {
    assertOwnThread()
    let token = mode.signalled.tokens[0]
    guard let item = unsafe slots.borrowed(token) else { return mode.signalled.removeLast() }
    unsafe item._withUnsafeGuaranteedRef { item in
      let source = downcast(item, to: Loop.Source.self)
      if slots[token].installed & mode.bit != 0 {
        perform(source, token, frame)
        // Left alone if it has left the loop, was signalled in its callout, or others were.
        if !slots.holds(token) || source.isSignalled || mode.signalled.tokens.count != 1
          || slots[token].pending & mode.bit == 0
        {
          return
        }
      }
      slots[token].pending &= ~mode.bit
      mode.signalled.removeLast()
    }
  }

  @inline(__always)
  private func perform(_ source: Loop.Source, _ token: Token, _ frame: RunFrame) {
    assertOwnThread()
    // Being installed is what keeps the handler: a source that left and was added again has yet to be.
    guard slots[token].installed & source.modes.load(ordering: .relaxed) & frame.mode.bit != 0,
      source.mayPerform
    else { return }
    let ticket = source.takeSignal()
    if ticket == 0 { return }
    counters.sourceCallouts.count()
    frame.calling = ObjectIdentifier(source)
    wakes.beginSource()
    if hasDelegate { callOutRecorded(source, ticket) } else { callOutSource(source) }
    wakes.endSource()
    frame.calling = nil
    frame.turn.hasHandledSource = true
  }

  /// 11. Runs what the main dispatch queue holds, on the main loop in common modes, outermost. Calls out.
  @inline(__always)
  func serveMainQueue(_ frame: RunFrame) {
    assertOwnThread()
    if frame.turn.isMainQueueReady && !isDrainingMainQueue { drainMainQueue(frame) }
  }

  @inline(never)
  private func drainMainQueue(_ frame: RunFrame) {
    assertOwnThread()
    // Under returnAfterSourceHandled the first source ends the turn, and the next one owes the queue a look.
    if frame.turn.hasHandledSource && frame.run.returnsAfterSourceHandled && !frame.ready.isEmpty { return }
    counters.pulse.enter(.mainQueue)
    counters.mainQueueCallouts.count()
    isDrainingMainQueue = true
    agenda.subtract(.mainQueue)
    if hasDelegate { callOutMainQueueRecorded() } else { callOutMainQueue() }
    isDrainingMainQueue = false
    frame.turn.hasHandledSource = true
    frame.turn.hasServedMainQueue = true
  }
}
