internal import CLinux
internal import CoreFoundation
internal import Glibc
internal import Synchronization

/// The oracle: the CFRunLoop of the Foundation library in the toolchain.
final class CFEngine: Engine {
  private nonisolated(unsafe) let loop: CFRunLoop
  private let items: CFItems
  private let host: any CalloutHost
  private let wakePort: CInt
  private let nesting: CFNesting
  private let timerWatch: CFTimerWatch
  private let common: Mutex<Set<String>> = Mutex(["D"])
  /// Asks at the last moment before a wait whether the mode has become empty.
  private nonisolated(unsafe) var probes: [CFRunLoopObserver?] = []
  /// The sources that were found signalled in the pass under way, and have not been performed in it: some may have left
  /// the mode since.
  private nonisolated(unsafe) var round: Set<String> = []
  /// Whether another thread has woken the loop.
  private let isWokenFromOutside = Atomic(false)

  init(host: any CalloutHost) {
    unsafe loop = CFRunLoopGetCurrent()
    items = CFItems()
    self.host = host
    wakePort = unsafe CFNames.wakePort(of: loop)
    nesting = CFNesting()
    timerWatch = unsafe CFTimerWatch(loop)
  }

  private init(sharing other: CFEngine) {
    unsafe loop = CFRunLoopGetCurrent()
    items = other.items
    host = other.host
    wakePort = unsafe CFNames.wakePort(of: loop)
    nesting = CFNesting()
    timerWatch = unsafe CFTimerWatch(loop)
  }

  func forCallingThread() -> any Engine {
    let engine = CFEngine(sharing: self)
    unsafe second = engine
    return engine
  }

  /// What the second thread sees; the items of both report to the first.
  private nonisolated(unsafe) weak var second: CFEngine?

  // MARK: Items

  func make(_ item: Scenario.Item, from origin: Double) {
    items.make(item, from: origin, engine: self)
  }

  func add(_ name: String, to mode: String) {
    timerWatch.undescribed {
      let mode = CFNames.mode(mode)
      switch items[name] {
      case .source(let source, _): unsafe CFRunLoopAddSource(loop, source, mode)
      case .timer(let timer):
        timerWatch.added(name, to: CFNames.name(of: mode))
        // The batch under way may have it, and fire it.
        if timerWatch.isFiringOther(than: name), CFRunLoopTimerGetNextFireDate(timer) <= CFAbsoluteTimeGetCurrent() {
          host.note(quirk: "re-added timer")
        }
        unsafe CFRunLoopAddTimer(loop, timer, mode)
      case .observer(let observer): unsafe CFRunLoopAddObserver(loop, observer, mode)
      }
    }
  }

  func remove(_ name: String, from mode: String) {
    timerWatch.undescribed {
      let mode = CFNames.mode(mode)
      switch items[name] {
      case .source(let source, _): unsafe CFRunLoopRemoveSource(loop, source, mode)
      case .timer(let timer): unsafe CFRunLoopRemoveTimer(loop, timer, mode)
      case .observer(let observer): unsafe CFRunLoopRemoveObserver(loop, observer, mode)
      }
    }
  }

  func contains(_ name: String, in mode: String) -> Bool {
    let mode = CFNames.mode(mode)
    return switch items[name] {
    case .source(let source, _): unsafe CFRunLoopContainsSource(loop, source, mode)
    case .timer(let timer): unsafe CFRunLoopContainsTimer(loop, timer, mode)
    case .observer(let observer): unsafe CFRunLoopContainsObserver(loop, observer, mode)
    }
  }

  func invalidate(_ name: String) {
    timerWatch.undescribed {
      switch items[name] {
      case .source(let source, _):
        // In which sequence it leaves several modes, a hash table says.
        if modes.count(where: { contains(name, in: $0) }) > 1 { host.note(quirk: "order of modes") }
        CFRunLoopSourceInvalidate(source)
      case .timer(let timer): CFRunLoopTimerInvalidate(timer)
      case .observer(let observer): CFRunLoopObserverInvalidate(observer)
      }
    }
  }

  func isValid(_ name: String) -> Bool {
    switch items[name] {
    case .source(let source, _): CFRunLoopSourceIsValid(source)
    case .timer(let timer): CFRunLoopTimerIsValid(timer)
    case .observer(let observer): CFRunLoopObserverIsValid(observer)
    }
  }

  func isSignalled(_ name: String) -> Bool {
    guard case .source(let source, _) = items[name] else { return false }
    // Invalidation takes the signal back; in Rondo nobody can tell, but for asking.
    if !CFRunLoopSourceIsValid(source) { host.note(quirk: "signal of an invalid source") }
    return cfSourceIsSignalled(source)
  }

  func setFireDate(_ name: String, milliseconds: Double) {
    timerWatch.undescribed {
      guard case .timer(let timer) = items[name] else { return }
      // A one-shot is over when its callout is, whatever its date.
      if timerWatch.isFiring(name), !CFRunLoopTimerDoesRepeat(timer) { host.note(quirk: "one-shot") }
      CFRunLoopTimerSetNextFireDate(timer, CFAbsoluteTimeGetCurrent() + milliseconds / 1e3)
    }
  }

  // MARK: Messages

  func signal(_ name: String) {
    guard case .source(let source, _) = items[name] else { return }
    CFRunLoopSourceSignal(source)
  }

  func write(_ name: String) {
    guard case .source(_, let descriptor?) = items[name] else { return }
    eventfd_write(descriptor, 1)
  }

  func hangUp(_ name: String) { items.hangUp(name) }

  func needsWake(for change: Scenario.Action) -> Bool {
    switch change {
    case .add(let name, let mode):
      let joined = mode == "C" ? common.withLock { Array($0) } : [mode]
      return isValid(name) && joined.contains { !contains(name, in: $0) }
    case .remove(let name, "C"): return contains(name, in: "C")
    case .remove(let name, let mode): return isMember(name) && (mode == "D" || modes.contains(mode))
    case .invalidate(let name): return isValid(name) && isMember(name)
    case .commonMode(let mode):
      return common.withLock { !$0.contains(mode) }
        && (modes.contains(mode) || items.names.contains { contains($0, in: "C") })
    // CFRunLoop wakes for a new date of a timer in another thread's loop.
    default: return false
    }
  }

  private func isMember(_ name: String) -> Bool { (modes + ["C"]).contains { contains(name, in: $0) } }

  func wake() {
    if !nesting.isOwnThread { isWokenFromOutside.store(true, ordering: .relaxed) }
    if nesting.isInFragileRun { host.note(quirk: "Q4") }
    noteStarvedTimer()
    unsafe CFRunLoopWakeUp(loop)
  }

  func stop() {
    noteStarvedTimer()
    unsafe CFRunLoopStop(loop)
  }

  /// In a nested run, CFRunLoop serves the wake and leaves a timer of the enclosing pass that is still due to that pass;
  /// Rondo fires what is due in every pass (Q11).
  private func noteStarvedTimer() {
    if nesting.depth > 1, isTimerDue { host.note(quirk: "Q11") }
  }

  /// Whether a timer of the mode that runs is due.
  private var isTimerDue: Bool {
    guard let mode = unsafe CFRunLoopCopyCurrentMode(loop) else { return false }
    let next = unsafe CFRunLoopGetNextTimerFireDate(loop, mode)
    return next != 0 && next <= CFAbsoluteTimeGetCurrent()
  }

  func requestStop(_ mode: String) { unsafe cfStopMode(loop, CFNames.mode(mode)) }

  func perform(_ name: String, in modes: [String]) {
    let block: @Sendable () -> Void = { [unowned self] in
      nesting.callout(isFragile: true) { host.callout(name, phase: nil) }
      if nesting.isInstant { noteTimerQuirk() }
    }
    if modes.count == 1 {
      unsafe CFRunLoopPerformBlock(loop, CFNames.mode(modes[0]), block)
    } else {
      unsafe CFRunLoopPerformBlock(loop, CFNames.array(modes), block)
    }
  }

  func addCommonMode(_ mode: String) {
    timerWatch.undescribed {
      common.withLock { _ = $0.insert(mode) }
      unsafe CFRunLoopAddCommonMode(loop, CFNames.mode(mode))
    }
  }

  func prepare() {
    for mode in ["m", "q", "D"] { watchForEmptiness(in: mode) }
    timerWatch.prepare()
  }

  // MARK: Running

  func run(_ mode: String, milliseconds: Double, handled: Bool) -> RunOutcome {
    let nested = unsafe CFRunLoopCopyCurrentMode(loop) != nil
    // What an outer pass was woken for is eaten by the inner run (Q4).
    if nested, isWakePending { host.note(quirk: "Q4") }
    watchForEmptiness(in: mode)
    let outerRound = unsafe round
    let result = nesting.run(milliseconds: milliseconds) {
      CFRunLoopRunInMode(CFNames.mode(mode), milliseconds / 1e3, handled)
    }
    unsafe round = outerRound
    forgetWake(nested: nested)
    // The wake that stands for an outer deadline disturbs the inner run, and is lost (Q4).
    if nesting.isDeadlinePast { host.note(quirk: "Q4") }
    return switch result {
    case .stopped: .stopped
    case .timedOut: .timedOut
    case .handledSource: .handledSource
    default: .finished
    }
  }

  func runForever() {
    watchForEmptiness(in: "D")
    CFRunLoopRun()
    forgetWake(nested: false)
  }

  /// A wake that no wait consumed would surface in the next run (Q3). Between runs of the scenario it is taken away, which
  /// is what Rondo does; inside an outer run it already disturbs that run's pass, so the comparison is given up.
  private func forgetWake(nested: Bool) {
    guard isWakePending else { return }
    host.note(quirk: nested ? "Q4" : "Q3")
    var value: eventfd_t = 0
    unsafe eventfd_read(wakePort, &value)
  }

  private var isWakePending: Bool {
    var descriptor = pollfd(fd: wakePort, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&descriptor, 1, 0) == 1
  }

  // MARK: Questions

  var currentMode: String? {
    guard let mode = unsafe CFRunLoopCopyCurrentMode(loop) else { return nil }
    return CFNames.name(of: mode)
  }

  var modes: [String] { unsafe CFNames.names(in: CFRunLoopCopyAllModes(loop)) }
  var isWaiting: Bool { unsafe CFRunLoopIsWaiting(loop) }

  func nextFireDate(in mode: String) -> Double? {
    let date = unsafe CFRunLoopGetNextTimerFireDate(loop, CFNames.mode(mode))
    return date == 0 ? nil : Watch.milliseconds + (date - CFAbsoluteTimeGetCurrent()) * 1e3
  }

  func tearDown() {
    items.removeAll()
    unsafe probes = []
  }

  // MARK: Callouts

  /// Runs the callout and watches whether CFRunLoop just did what Rondo decided not to do.
  func calledOut(_ name: String, phase: Phases?) {
    // A source that is in a second thread's loop as well.
    guard nesting.isOwnThread else {
      if let second = unsafe second { second.calledOut(name, phase: phase) }
      return
    }
    let mode = currentMode
    if let mode, !contains(name, in: mode) { host.note(quirk: "Q7") }
    guard case .source(_, nil) = items[name], let mode else {
      nesting.callout(isFragile: phase != nil) {
        if phase == nil {
          timerWatch.callout(name) { host.callout(name, phase: nil) }
        } else {
          host.callout(name, phase: phase)
        }
      }
      return
    }
    // A sibling of the same round that is no longer signalled or valid when its turn comes makes the round count as
    // unhandled (Q5).
    unsafe round.formUnion(items.signalledSources.filter { contains($0, in: mode) })
    let siblings = unsafe round.subtracting([name])
    nesting.callout(isFragile: false) { host.callout(name, phase: phase) }
    let remaining = Set(items.signalledSources)
    if siblings.contains(where: { !remaining.contains($0) }) { host.note(quirk: "Q5") }
    unsafe round.remove(name)
    // A pass that handled a source only looks.
    noteTimerQuirk()
  }

  /// Right before a wait, as near as user code can come to it.
  private func noteTimerQuirk() {
    if isWokenFromOutside.load(ordering: .relaxed), isTimerDue, isWakePending {
      host.note(quirk: "adding from another thread")
    }
    guard let mode = currentMode, let quirk = timerWatch.quirk(in: mode, items.timers) else { return }
    host.note(quirk: quirk + " timers")
  }

  func announce(_ sign: String, of name: String, mode: CFString) {
    host.announce(sign, of: name, mode: CFNames.name(of: mode))
  }

  /// The first and the last observer before each wait: Rondo does not sleep in a mode that became empty, nor tell
  /// observers that it were about to (Q1).
  private func watchForEmptiness(in mode: String) {
    // Adding would create a mode that the scenario did not.
    guard mode != "C", modes.contains(mode) else { return }
    if unsafe probes.isEmpty {
      unsafe probes = [makeProbe(order: .min), makeProbe(order: .max), makeTimerProbe()]
    }
    for index in unsafe probes.indices { unsafe CFRunLoopAddObserver(loop, probes[index], CFNames.mode(mode)) }
  }

  private func makeProbe(order: CFIndex) -> CFRunLoopObserver? {
    CFRunLoopObserverCreateWithHandler(nil, Phases.beforeWaiting.rawValue, true, order) {
      [unowned self] _, _ in
      guard let mode = unsafe CFRunLoopCopyCurrentMode(loop) else { return }
      if unsafe cfIsFinished(loop, mode) { host.note(quirk: "Q1") }
    }
  }

  /// The last observer before each wait, or before the sources where a pass only looks.
  private func makeTimerProbe() -> CFRunLoopObserver? {
    let phases: Phases = [.beforeSources, .beforeWaiting]
    return CFRunLoopObserverCreateWithHandler(nil, phases.rawValue, true, .max) { [unowned self] _, activity in
      unsafe round = []
      if nesting.isInstant || Phases(rawValue: UInt(activity.rawValue)) == .beforeWaiting { noteTimerQuirk() }
    }
  }
}
