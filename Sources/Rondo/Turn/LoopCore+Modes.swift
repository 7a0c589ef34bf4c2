/// The modes by index, as the loop's thread knows them.
extension LoopCore {
  /// The index of the mode of this name, if there is one; the loop's lock is taken for a name that is new to its thread.
  @inline(__always)
  func index(of name: Loop.Mode) -> Int? {
    assertOwnThread()
    return name == .default ? 0 : indexOfOther(name)
  }

  private func indexOfOther(_ name: Loop.Mode) -> Int? {
    assertOwnThread()
    if let index = modes.firstIndex(where: { $0.name == name }) { return index }
    let found = mailbox.withLock { state in
      state.modes.index(of: name).map { (index: $0, isCommon: state.modes.common & (1 << UInt64($0)) != 0) }
    }
    guard let found else { return nil }
    let mode = modeState(found.index)
    if mode.name == nil { loop.hintAtNewMode(name) }
    mode.name = name
    if found.isCommon, !mode.isCommon {
      mode.isCommon = true
      listGroups(of: mode)
    }
    return found.index
  }

  /// Gives modes back if the loop has no room for one more: those that have nothing, are not common and not run, and
  /// that only this thread knows by index. Mail is left alone: it concerns modes that have something, or stay. Calls
  /// nothing of the user's.
  @inline(__always)
  func makeRoom(for name: Loop.Mode) {
    if modes.count > ModeTable.capacity / 2 { makeRoomNow(for: name) }
  }

  @inline(never)
  private func makeRoomNow(for name: Loop.Mode) {
    assertOwnThread()
    var gone: [ModeState] = []
    mailbox.withLock { state in
      if name == .common || state.modes.hasRoom(for: name) { return }
      let staying = state.modes.pinned | state.modes.common
      for mode in modes
      where mode.isUnused && timers[mode.own].rowCount == 0 && staying & mode.bit == 0
        && state.modes.names[mode.index] != nil
      {
        if blocks.contains(for: mode, held: true) || (knownJobs?.count(in: mode) ?? 0) > 0 { continue }
        // Items that have left may say that they are on its lists.
        for token in mode.signalled.tokens + mode.dirtyDescriptors.tokens where slots.holds(token) {
          slots[token].pending &= ~mode.bit
        }
        state.modes.giveBack(mode.index)
        modes[mode.index] = ModeState(index: mode.index, name: nil, isCommon: false, own: mode.own)
        gone.append(mode)
      }
      state.states = modes
    }
    for mode in gone { mode.dropFrames() }
  }

  /// The state of the mode with this index, made on first sight.
  @inline(__always)
  func modeState(_ index: Int) -> ModeState {
    assertOwnThread()
    return index < modes.count ? modes[index] : makeModeState(index)
  }

  @inline(never)
  private func makeModeState(_ index: Int) -> ModeState {
    assertOwnThread()
    while modes.count <= index {
      let index = modes.count
      mailbox.withLock { state in
        let isCommon = state.modes.common & (1 << UInt64(index)) != 0
        let own = timers.makeGroup(ModeSet(modes: 1 << UInt64(index), isCommon: false))
        modes.append(ModeState(index: index, name: state.modes.names[index], isCommon: isCommon, own: own))
        state.states = modes
      }
      listGroups(of: modes[index])
      if let name = modes[index].name { loop.hintAtNewMode(name) }
    }
    return modes[index]
  }
}
