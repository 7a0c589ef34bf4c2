/// What is done before a wait: watches are brought up to date, and readiness is taken for which no source was called.
extension LoopCore {
  /// Asks the kernel for what descriptor sources want now, once for all their changes since the last wait. Calls out:
  /// sources that the kernel refuses end. Nothing is called out after the last look at what has changed.
  @inline(__always)
  func updateWatches(_ mode: ModeState) {
    if mode.agenda.contains(.dirty) || wait.mustPrepare(mode) { updateWatchesPresent(mode) }
  }

  @inline(never)
  private func updateWatchesPresent(_ mode: ModeState) {
    while true {
      for token in mode.dirtyDescriptors.takeAll() { updateWatch(token, in: mode) }
      guard let kernel = wait.kernel else { return }
      kernel.prepare(mode.index)
      let rejected = kernel.takeRejected()
      if rejected.isEmpty { return }
      for each in rejected {
        each.source.invalidate(because: each.reason)
        // Another thread may have invalidated it, its mail still unread. Left in, it would be rejected again and again.
        release(each.source)
      }
    }
  }

  private func updateWatch(_ token: Token, in mode: ModeState) {
    guard let item = slots.item(token) else { return }
    let source = downcast(item, to: Loop.DescriptorSource.self)
    slots[token].pending &= ~mode.bit
    guard slots[token].installed & mode.bit != 0, source.isValid else { return }
    wait.watch(source, token, in: mode, slots)
  }

  /// Edge-triggered readiness that an earlier turn collected and passed on to no source comes first.
  @inline(__always)
  func takeCarriedDescriptors(_ frame: RunFrame) {
    if !frame.mode.agenda.contains(.carried) { return }
    for record in frame.mode.carriedDescriptors {
      guard slots.holds(record.token), slots[record.token].installed & frame.mode.bit != 0 else { continue }
      frame.ready.append(record)
    }
    frame.mode.carriedDescriptors.empty()
  }

  /// Carried readiness that the kernel has reported again is passed on once.
  @inline(never)
  func mergeRepeated(_ frame: RunFrame, _ carriedCount: Int) {
    for index in 0..<carriedCount {
      let token = frame.ready[index].token
      var readiness = frame.ready[index].readiness
      frame.ready.removeAll(from: carriedCount) { repeated in
        guard repeated.token == token else { return false }
        readiness.formUnion(repeated.readiness)
        return true
      }
      frame.ready[index].readiness = readiness
    }
  }
}
