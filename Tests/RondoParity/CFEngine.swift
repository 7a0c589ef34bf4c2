internal import CLinux
internal import CoreFoundation
internal import Glibc

/// The oracle: the CFRunLoop of the Foundation library in the toolchain.
final class CFEngine: Engine {
  private nonisolated(unsafe) let loop: CFRunLoop
  private let items: CFItems
  private let host: any CalloutHost
  private let wakePort: CInt
  private let nesting: CFNesting
  /// Asks at the last moment before a wait whether the mode has become empty.
  private nonisolated(unsafe) var probes: [CFRunLoopObserver?] = []

  init(host: any CalloutHost) {
    unsafe loop = CFRunLoopGetCurrent()
    items = CFItems()
    self.host = host
    wakePort = unsafe CFNames.wakePort(of: loop)
    nesting = CFNesting()
  }

  private init(sharing other: CFEngine) {
    unsafe loop = CFRunLoopGetCurrent()
    items = other.items
    host = other.host
    wakePort = unsafe CFNames.wakePort(of: loop)
    nesting = CFNesting()
  }

  func forCallingThread() -> any Engine { CFEngine(sharing: self) }

  // MARK: Items

  func make(_ item: Scenario.Item) {
    items.make(item, engine: self)
  }

  func add(_ name: String, to mode: String) {
    let mode = CFNames.mode(mode)
    switch items[name] {
    case .source(let source, _): unsafe CFRunLoopAddSource(loop, source, mode)
    case .timer(let timer): unsafe CFRunLoopAddTimer(loop, timer, mode)
    case .observer(let observer): unsafe CFRunLoopAddObserver(loop, observer, mode)
    }
  }

  func remove(_ name: String, from mode: String) {
    let mode = CFNames.mode(mode)
    switch items[name] {
    case .source(let source, _): unsafe CFRunLoopRemoveSource(loop, source, mode)
    case .timer(let timer): unsafe CFRunLoopRemoveTimer(loop, timer, mode)
    case .observer(let observer): unsafe CFRunLoopRemoveObserver(loop, observer, mode)
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
    switch items[name] {
    case .source(let source, _): CFRunLoopSourceInvalidate(source)
    case .timer(let timer): CFRunLoopTimerInvalidate(timer)
    case .observer(let observer): CFRunLoopObserverInvalidate(observer)
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
    return cfSourceIsSignalled(source)
  }

  func setFireDate(_ name: String, milliseconds: Double) {
    guard case .timer(let timer) = items[name] else { return }
    CFRunLoopTimerSetNextFireDate(timer, CFAbsoluteTimeGetCurrent() + milliseconds / 1e3)
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

  func wake() {
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
    guard nesting.depth > 1, let mode = unsafe CFRunLoopCopyCurrentMode(loop) else { return }
    let next = unsafe CFRunLoopGetNextTimerFireDate(loop, mode)
    if next != 0, next <= CFAbsoluteTimeGetCurrent() { host.note(quirk: "Q11") }
  }
  func requestStop(_ mode: String) { unsafe cfStopMode(loop, CFNames.mode(mode)) }

  func perform(_ name: String, in modes: [String]) {
    let block: @Sendable () -> Void = { [host, nesting] in
      nesting.callout(isFragile: true) { host.callout(name, phase: nil) }
    }
    if modes.count == 1 {
      unsafe CFRunLoopPerformBlock(loop, CFNames.mode(modes[0]), block)
    } else {
      unsafe CFRunLoopPerformBlock(loop, CFNames.array(modes), block)
    }
  }

  func addCommonMode(_ mode: String) { unsafe CFRunLoopAddCommonMode(loop, CFNames.mode(mode)) }

  // MARK: Running

  func run(_ mode: String, milliseconds: Double, handled: Bool) -> RunOutcome {
    let nested = unsafe CFRunLoopCopyCurrentMode(loop) != nil
    // What an outer pass was woken for is eaten by the inner run (Q4).
    if nested, isWakePending { host.note(quirk: "Q4") }
    watchForEmptiness(in: mode)
    let start = Watch.milliseconds
    let result = nesting.run(milliseconds: milliseconds) {
      CFRunLoopRunInMode(CFNames.mode(mode), milliseconds / 1e3, handled)
    }
    // Its deadline comes from another thread's timer. Where that is late, more happens before the end than was meant to.
    if milliseconds > 0, Watch.milliseconds - start > milliseconds + Self.lateness { host.note(quirk: "late") }
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

  /// Milliseconds; scenarios leave four between a deadline and what comes after it.
  private static let lateness = 2.0

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
  func hasFireDate(in mode: String) -> Bool { unsafe CFRunLoopGetNextTimerFireDate(loop, CFNames.mode(mode)) != 0 }

  func tearDown() {
    items.removeAll()
    unsafe probes = []
  }

  // MARK: Callouts

  /// Runs the callout and watches whether CFRunLoop just did what Rondo decided not to do.
  func calledOut(_ name: String, phase: Phases?) {
    let mode = currentMode
    if let mode, !contains(name, in: mode) { host.note(quirk: "Q7") }
    guard case .source(_, nil) = items[name], let mode else {
      nesting.callout(isFragile: phase != nil) { host.callout(name, phase: phase) }
      return
    }
    // A sibling of the same round that is no longer signalled or valid when its turn comes makes the round count as
    // unhandled (Q5).
    let siblings = items.signalledSources.filter { $0 != name && contains($0, in: mode) }
    nesting.callout(isFragile: false) { host.callout(name, phase: phase) }
    let remaining = Set(items.signalledSources)
    if siblings.contains(where: { !remaining.contains($0) }) { host.note(quirk: "Q5") }
  }

  func announce(_ sign: String, mode: CFString) { host.announce(sign + CFNames.name(of: mode)) }

  /// The first and the last observer before each wait: Rondo does not sleep in a mode that became empty, nor tell
  /// observers that it were about to (Q1).
  private func watchForEmptiness(in mode: String) {
    // Adding would create a mode that the scenario did not.
    guard mode != "C", modes.contains(mode) else { return }
    if unsafe probes.isEmpty { unsafe probes = [makeProbe(order: .min), makeProbe(order: .max)] }
    for index in unsafe probes.indices { unsafe CFRunLoopAddObserver(loop, probes[index], CFNames.mode(mode)) }
  }

  private func makeProbe(order: CFIndex) -> CFRunLoopObserver? {
    CFRunLoopObserverCreateWithHandler(nil, Phases.beforeWaiting.rawValue, true, order) {
      [unowned self] _, _ in
      guard let mode = unsafe CFRunLoopCopyCurrentMode(loop) else { return }
      if unsafe cfIsFinished(loop, mode) { host.note(quirk: "Q1") }
    }
  }
}
