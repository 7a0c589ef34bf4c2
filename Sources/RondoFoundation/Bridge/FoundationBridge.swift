import CLinux
import Rondo
import Synchronization

/// Has Foundation's loop and Rondo's of one thread serve each other. *loop thread*
///
/// Where the thread has both, and Foundation's has something, Rondo sleeps in Foundation's wait, with its own epoll set as
/// one of Foundation's ports. The same port, and observers of Foundation's turns, serve Rondo while Foundation's loop runs
/// for itself. While Foundation's has nothing, it is not entered: see `FoundationBridge+Sleep.swift`.
@safe final class FoundationBridge: ForeignLoop, @unchecked Sendable {
  /// Runs of Foundation's loop in joined modes that are under way, the innermost last.
  private struct Run {
    enum Purpose { case sleep, look, itself }
    let mode: FoundationMode
    let purpose: Purpose
    /// How many turns it has begun.
    var turns = 0
    /// The turn under way has come to its sleep, so it has performed no source that was signalled.
    var hasComeToSleep = false
    /// The port fired, and nothing else was handled with it.
    var firedAlone = false
    /// The bridge has asked it to end.
    var isAskedToEnd = false
  }

  /// How the two loops stand, as other threads may know it.
  private enum Stand: UInt8, AtomicRepresentable {
    case apart
    /// The main thread has been asked to attach.
    case asked
    /// They are attached, or never will be.
    case settled
  }

  /// What Rondo's observers know of the sleep that Foundation's loop is about to begin for itself.
  private enum SleepNews {
    case none
    /// Nothing else keeps it from sleeping. The next turn for Rondo tells them.
    case due
    case told
  }

  unowned let loop: Loop
  /// *atomic* Whether the thread wants it.
  let isWanted = Atomic<Bool>(true)
  /// *atomic* Whether the loop knows the bridge.
  private let isKnown = Atomic<Bool>(false)
  /// *atomic*
  private let stand = Atomic<Stand>(.apart)
  private(set) var foundation: CFRunLoop?
  /// Where that lives in memory: comparing costs no reference count.
  private var address: UnsafeMutableRawPointer?
  private(set) var modes: [FoundationMode] = []
  /// What keeps wakeups of Foundation's loop from being lost in runs of Rondo's.
  var host: FoundationHost?
  private var runs: [Run] = []
  /// The run that ended last.
  private var ended: Run?
  /// What the next run is for.
  private var purpose = Run.Purpose.itself
  /// Foundation's loop has come to its sleep since it began its last turn but one: Rondo has had a turn.
  private var hasComeToSleep = true
  /// Rondo's sleep in Foundation's wait that is under way.
  private var asleep: ForeignSleep?
  private var sleepNews = SleepNews.none
  /// The depth of the turn of Rondo's that a run of Foundation's has given it; -1 outside of one.
  private(set) var turnDepth = -1
  private(set) var refusal: String?
  /// It need not be tried again.
  private var isHopeless = false

  init(_ loop: Loop) {
    self.loop = loop
  }

  var isAttached: Bool { foundation != nil }

  // MARK: - Joining

  /// Attaches for a caller who may leave something in the run loop: every door to one comes by here. Any thread.
  ///
  /// The thread then has a loop of Foundation's: one that is made later, by the call that runs it, would not ask Rondo.
  /// Another thread has the main one do it. A loop of any other thread attaches when that thread comes by, or at its next
  /// sleep if it has a loop of Foundation's.
  func attachForCaller() {
    if !isKnown.load(ordering: .relaxed) { introduce() }
    if loop.isCurrent {
      attachForFoundation()
    } else if loop.isMain, stand.load(ordering: .relaxed) == .apart {
      attachOnMain()
    }
  }

  /// Has the loop know the bridge.
  private func introduce() {
    if isKnown.exchange(true, ordering: .relaxed) || loop.isVirtual { return }
    loop.join(self)
  }

  /// Has the main thread attach at the next turn of either loop, whichever runs there. Asks once.
  private func attachOnMain() {
    guard !loop.isOfForkedChild, !loop.isVirtual, isWanted.load(ordering: .relaxed), FoundationDoors.mayHaveMainLoop,
      stand.compareExchange(expected: .apart, desired: .asked, ordering: .relaxed).exchanged
    else { return }
    CFRunLoopPerformBlock(CFRunLoopGetMain(), kCFRunLoopCommonModes) { [weak self] in
      guard let self, loop.isOfThisProcess else { return }
      _ = stand.compareExchange(expected: .asked, desired: .apart, ordering: .relaxed)
      attachForFoundation()
    }
    CFRunLoopWakeUp(CFRunLoopGetMain())
    loop.wakeUp()
  }

  /// Joins the default modes, if the thread has a loop of Foundation's by now. 15 ns if it has none.
  ///
  /// - Parameter isMaking: Whether the thread gets one.
  /// - Returns: Whether they are joined.
  @discardableResult
  func attach(making isMaking: Bool = false) -> Bool {
    if isHopeless { return false }
    if rondo_has_foundation_doors() == 0 { return giveUp(FoundationDoors.refusal ?? "") }
    let found = unsafe rondo_foundation_loop()
    if loop.isEmbedded { refusal = "The loop is embedded: whoever hosts it serves what the host has." }
    if !isWanted.load(ordering: .relaxed) || loop.isEmbedded {
      // Not from under a run that relies on it.
      if runs.isEmpty { detach() }
      return false
    }
    if let found = unsafe found, unsafe found == address { return true }
    // Foundation's loop may have gone before Rondo's, with the thread.
    if foundation != nil { detach() }
    if loop.isVirtual { return giveUp("The loop waits in virtual time.") }
    if loop.isOfForkedChild { return giveUp("Foundation's loop may be that of the process that forked this one.") }
    guard let found = unsafe found ?? (isMaking ? makeFoundation() : nil) else { return false }
    return unsafe attach(to: found)
  }

  /// Foundation's loop of the thread, made now; nil without descriptors. Workers, which may be many, leave half of them.
  private func makeFoundation() -> UnsafeMutableRawPointer? {
    guard hasDescriptors(FoundationDoors.descriptorsOfLoop, leavingHalf: !loop.isMain) else { return nil }
    return unsafe FoundationDoors.makeLoop()
  }

  /// Attaches, and has Foundation's default mode keep its runs from ending at once: Rondo's may have something by now.
  func attachForFoundation() {
    if attach(making: true), runs.isEmpty, let first = modes.first, let foundation { first.insert(in: foundation) }
  }

  private func attach(to found: UnsafeMutableRawPointer) -> Bool {
    guard epoll(of: .default) != nil, hasDescriptors(FoundationDoors.descriptorsToAsk) else { return false }
    if let refusal = FoundationDoors.refusal { return giveUp(refusal) }
    refusal = nil
    foundation = unsafe Unmanaged<CFRunLoop>.fromOpaque(found).takeUnretainedValue()
    // Without its default mode, the next door or sleep tries again.
    if join(.default) == nil { foundation = nil }
    guard foundation != nil else { return false }
    stand.store(.settled, ordering: .relaxed)
    unsafe address = found
    return true
  }

  private func epoll(of mode: Loop.Mode) -> CInt? {
    loop.waitDescriptor(of: mode) { [weak self] closing in
      guard let self else { return }
      for mode in modes where mode.port == closing { mode.dropPort() }
    }
  }

  func hasDescriptors(_ count: CInt, leavingHalf: Bool = false) -> Bool {
    rondo_has_descriptors(count) != 0 && (!leavingHalf || rondo_has_half_of_descriptors() != 0)
      || refuse("Too few descriptors are left.")
  }

  private func refuse(_ reason: String) -> Bool {
    refusal = reason
    return false
  }

  private func giveUp(_ reason: String) -> Bool {
    isHopeless = true
    stand.store(.settled, ordering: .relaxed)
    return refuse(reason)
  }

  /// What Rondo's mode and Foundation's mode of that name have in common, made if need be; nil without descriptors.
  func join(_ mode: Loop.Mode) -> FoundationMode? {
    guard let foundation else { return nil }
    if let known = modes.first(where: { $0.mode == mode }) { return known }
    guard let epoll = epoll(of: mode), hasDescriptors(FoundationDoors.descriptorsOfMode) else { return nil }
    let made = FoundationMode(mode, of: self)
    modes.append(made)
    made.observe(foundation)
    made.follow(epoll, in: foundation)
    return made
  }

  private func detach() {
    for mode in modes { mode.end() }
    modes = []
    host?.end()
    host = nil
    runs = []
    wake()
    foundation = nil
    unsafe address = nil
    stand.store(.apart, ordering: .relaxed)
  }

  // MARK: - Rondo's runs

  func sleepWasAnnounced() {
    if loop.depth == turnDepth { sleepNews = .told }
  }

  func wait(in mode: Loop.Mode, sleeps: Bool) -> Bool {
    // Within a run of Foundation's, which looks and sleeps for itself.
    if loop.depth == turnDepth { return false }
    guard let joined = join(mode), let foundation else { return false }
    // Without a port its run would be over at once, if nothing else is in the mode.
    if joined.port < 0, let epoll = epoll(of: mode) { joined.follow(epoll, in: foundation) }
    joined.insert(in: foundation)
    return sleeps ? run(joined, .sleep, for: 1e10) : run(joined, .look, for: 0)
  }

  func end() {
    detach()
    _ = giveUp("The loop has ended.")
  }

  /// Has Rondo know a mode that only Foundation's loop has had use for, since a run of it is about to begin.
  func welcome(_ mode: Loop.Mode) {
    guard mode != .default, attach(), let foundation, !loop.modes.contains(mode) else { return }
    if !isFinished(foundation, FoundationMode.name(of: mode)) { loop.makeMode(mode) }
  }

  /// Runs Foundation's loop on Rondo's behalf. Whether that handled a source of its own. Calls out.
  private func run(_ mode: FoundationMode, _ purpose: Run.Purpose, for seconds: Double) -> Bool {
    self.purpose = purpose
    ended = nil
    let result = CFRunLoopRunInMode(mode.name, seconds, true)
    self.purpose = .itself
    guard let run = ended.take(), result != .finished else {
      // Foundation's loop is ending, or cannot be run. So Rondo's sleeps by itself.
      detach()
      return giveUp("Foundation's loop does not run any more.")
    }
    if run.isAskedToEnd, result != .stopped {
      // It has ended before it heard, and the next one would end at once.
      self.purpose = .look
      _ = CFRunLoopRunInMode(mode.name, 0, true)
      self.purpose = .itself
    }
    // A stop of Foundation's loop is meant for the run that stands here. If both had asked, it shows in the next run.
    if result == .stopped, !run.isAskedToEnd { loop.stop() }
    return result == .handledSource && !run.firedAlone
  }

  // MARK: - Foundation's runs

  /// Foundation's loop is at this point of a turn. Calls out nothing of the user's.
  func foundation(does activity: CFRunLoopActivity, in mode: FoundationMode) {
    guard loop.isOfThisProcess, let foundation else { return }
    switch activity {
    case .entry:
      runs.append(Run(mode: mode, purpose: purpose))
      // They are for a run of Foundation's.
      if purpose != .itself { mode.dropNews() }
      purpose = .itself
      if mode.port >= 0 { mode.insert(in: foundation) }
    case .beforeTimers:
      beginTurn(mode, foundation)
    case .beforeWaiting:
      comeToSleep(mode, foundation)
    case .afterWaiting:
      wake()
    default:
      wake()
      // One that was under way when the modes were joined is not listed.
      if runs.last?.mode === mode { ended = runs.removeLast() }
    }
  }

  /// What the innermost run is for.
  private func purpose(in mode: FoundationMode) -> Run.Purpose {
    if let run = runs.last, run.mode === mode { run.purpose } else { .itself }
  }

  private func update(_ mode: FoundationMode, _ change: (inout Run) -> Void) {
    guard let last = runs.indices.last, runs[last].mode === mode else { return }
    change(&runs[last])
  }

  private func beginTurn(_ mode: FoundationMode, _ foundation: CFRunLoop) {
    update(mode) { run in
      run.turns += 1
      run.hasComeToSleep = false
      run.firedAlone = false
    }
    guard purpose(in: mode) == .itself else { return }
    // A loop that never sleeps must not starve the other one.
    if !hasComeToSleep { queueTurn(mode, foundation) }
    hasComeToSleep = false
  }

  private func comeToSleep(_ mode: FoundationMode, _ foundation: CFRunLoop) {
    let isForRondo = purpose(in: mode) == .sleep
    let isWanted = isWanted.load(ordering: .relaxed) && !loop.isEmbedded
    update(mode) { $0.hasComeToSleep = true }
    let isVacant = loop.isVacant(mode.mode)
    if !isForRondo {
      hasComeToSleep = true
      if !isWanted || isVacant {
        // Without the port, and a turn of Rondo's may have taken that out, Foundation's mode may be empty: its run ends
        // if it is woken.
        mode.remove(from: foundation)
        if isFinished(foundation, mode.name) { CFRunLoopWakeUp(foundation) }
        return
      }
    }
    if isWanted, !isVacant, fallAsleep(mode, foundation, isForRun: isForRondo) { return }
    if isForRondo {
      update(mode) { $0.isAskedToEnd = true }
      unsafe rondo_foundation_stop_mode(
        Unmanaged.passUnretained(foundation).toOpaque(), Unmanaged.passUnretained(mode.name).toOpaque())
    } else {
      queueTurn(mode, foundation)
      CFRunLoopWakeUp(foundation)
    }
  }

  /// - Returns: False if Rondo has something to do first.
  private func fallAsleep(_ mode: FoundationMode, _ foundation: CFRunLoop, isForRun: Bool) -> Bool {
    let isTold = isForRun || sleepNews == .told
    switch loop.prepareForeignSleep(in: mode.mode, isForRun: isForRun, isTold: isTold) {
    case .busy: return false
    case .untold:
      sleepNews = .due
      return false
    case .asleep(let sleep):
      asleep = sleep
      mode.follow(sleep.descriptor, in: foundation)
      // Foundation hears of each readiness once, and of what was ready before never again.
      if rondo_is_readable(sleep.descriptor) == 0 { return true }
      wake()
      return false
    }
  }

  private func wake() {
    guard let sleep = asleep.take() else { return }
    loop.endForeignSleep(sleep)
    sleepNews = .none
  }

  /// Rondo's epoll set has something. Calls out.
  func portFired(in mode: FoundationMode) {
    update(mode) { $0.firedAlone = $0.hasComeToSleep }
    if purpose(in: mode) == .itself { giveTurn(mode) }
  }

  /// Gives Rondo a turn among the blocks of Foundation's loop: an observer cannot be told of what runs within it.
  private func queueTurn(_ mode: FoundationMode, _ foundation: CFRunLoop) {
    guard !mode.isTurnQueued else { return }
    mode.isTurnQueued = true
    CFRunLoopPerformBlock(foundation, mode.name) { [weak self, weak mode] in
      guard let self, let mode else { return }
      mode.isTurnQueued = false
      guard purpose(in: mode) == .itself, giveTurn(mode) else { return }
      // A block that is performed does not end `run(mode:before:)`, and what Rondo has served does. The turn may have
      // parted the loops.
      if let foundation = self.foundation, modes.contains(where: { $0 === mode }) { mode.tellNews(foundation) }
    }
  }

  /// Calls out.
  ///
  /// - Returns: Whether anything was served.
  @discardableResult
  private func giveTurn(_ mode: FoundationMode) -> Bool {
    guard loop.isOfThisProcess, isAttached, !loop.isEmbedded else { return false }
    let outer = turnDepth
    turnDepth = loop.depth + 1
    let hasServed = loop.serveForeignTurn(in: mode.mode, tellsOfSleep: sleepNews == .due)
    turnDepth = outer
    return hasServed
  }
}
