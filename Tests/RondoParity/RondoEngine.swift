internal import CLinux
internal import Glibc
internal import Rondo
internal import Synchronization

/// Rondo under the oracle's rule of one kernel event a turn.
final class RondoEngine: Engine {
  private let loop: Loop
  private let items: Items
  private let host: any CalloutHost

  private enum Item {
    case source(Loop.Source)
    case timer(Loop.Timer)
    case observer(Loop.Observer)
    case descriptor(Loop.DescriptorSource, CInt)

    var common: Loop.Item {
      switch self {
      case .source(let source): source
      case .timer(let timer): timer
      case .observer(let observer): observer
      case .descriptor(let source, _): source
      }
    }
  }

  private final class Items: Sendable {
    let byName: Mutex<[String: Item]> = Mutex([:])
    /// The ends of pipes that are closed to hang up.
    let writers: Mutex<[String: CInt]> = Mutex([:])
  }

  init(host: any CalloutHost) {
    loop = Self.preparedLoop()
    items = Items()
    self.host = host
  }

  private init(sharing other: RondoEngine) {
    loop = Self.preparedLoop()
    items = other.items
    host = other.host
  }

  private static func preparedLoop() -> Loop {
    let loop = Loop.current
    loop.servesOneEventPerTurn = true
    loop.checksInvariants = true
    return loop
  }

  func forCallingThread() -> any Engine { RondoEngine(sharing: self) }

  private subscript(_ name: String) -> Item {
    guard let item = items.byName.withLock({ $0[name] }) else { preconditionFailure("no item is called \(name)") }
    return item
  }

  private static func mode(_ name: String) -> Loop.Mode {
    switch name {
    case "D": .default
    case "C": .common
    default: Loop.Mode(rawValue: name)
    }
  }

  private static func name(of mode: Loop.Mode) -> String {
    switch mode {
    case .default: "D"
    case .common: "C"
    default: mode.rawValue
    }
  }

  // MARK: Items

  func make(_ item: Scenario.Item, from origin: Double) {
    let made: Item =
      switch item.kind {
      case .source0(let order): .source(source0(item, order: order))
      case .source1(let written, let order):
        source1(item, eventfd(written ? 1 : 0, CInt(EFD_NONBLOCK | EFD_CLOEXEC)), order: order)
      case .pipe: source1(item, pipe(item.name), order: 0)
      case .timer(let milliseconds, let every, let order):
        .timer(timer(item, date: origin + milliseconds, every: every, order: order))
      case .observer(let phases, let order, let repeats, _):
        .observer(observer(item, phases: phases, order: order, repeats: repeats))
      }
    items.byName.withLock { $0[item.name] = made }
  }

  private func source0(_ item: Scenario.Item, order: Int) -> Loop.Source {
    let perform: @Sendable () -> Void = { [host, name = item.name] in host.callout(name, phase: nil) }
    guard item.announces else { return Loop.Source(order: order, perform: perform) }
    return Loop.Source(
      order: order, schedule: { [host] _, mode in host.announce("+", of: item.name, mode: Self.name(of: mode)) },
      cancel: { [host] _, mode in host.announce("-", of: item.name, mode: Self.name(of: mode)) }, perform: perform)
  }

  private func pipe(_ name: String) -> CInt {
    let ends = Pipe.make()
    items.writers.withLock { $0[name] = ends.writer }
    return ends.reader
  }

  private func source1(_ item: Scenario.Item, _ descriptor: CInt, order: Int) -> Item {
    precondition(descriptor >= 0, "no eventfd: error \(errno)")
    do {
      let source = try Loop.DescriptorSource(descriptor, for: .read, order: order) { [host, name = item.name] _, _ in
        // CFRunLoop reads the eventfd before it performs; Rondo leaves a user's descriptor alone.
        var value: eventfd_t = 0
        unsafe eventfd_read(descriptor, &value)
        host.callout(name, phase: nil)
      }
      return .descriptor(source, descriptor)
    } catch {
      preconditionFailure("an eventfd was refused: \(error)")
    }
  }

  private func timer(_ item: Scenario.Item, date: Double, every: Double, order: Int) -> Loop.Timer {
    let handler: @Sendable (Loop.Timer.Tick) -> Void = { [host, name = item.name] _ in host.callout(name, phase: nil) }
    let date = SuspendingClock.now + .milliseconds(date - Watch.milliseconds)
    return every > 0
      ? Loop.Timer(at: date, every: .milliseconds(every), order: order, handler: handler)
      : Loop.Timer(at: date, order: order, handler: handler)
  }

  private func observer(_ item: Scenario.Item, phases: Phases, order: Int, repeats: Bool) -> Loop.Observer {
    Loop.Observer(Loop.Activity(rawValue: UInt32(phases.rawValue)), repeats: repeats, order: order) {
      [host, name = item.name] activity in
      host.callout(name, phase: Phases(rawValue: UInt(activity.rawValue)))
    }
  }

  func add(_ name: String, to mode: String) { loop.add(self[name].common, to: Self.mode(mode)) }
  func remove(_ name: String, from mode: String) { loop.remove(self[name].common, from: Self.mode(mode)) }
  func contains(_ name: String, in mode: String) -> Bool { loop.contains(self[name].common, in: Self.mode(mode)) }
  func invalidate(_ name: String) { self[name].common.invalidate() }
  func isValid(_ name: String) -> Bool { self[name].common.isValid }

  func isSignalled(_ name: String) -> Bool {
    guard case .source(let source) = self[name] else { return false }
    return source.isSignalled
  }

  func setFireDate(_ name: String, milliseconds: Double) {
    guard case .timer(let timer) = self[name] else { return }
    timer.fireDate = SuspendingClock.now + .milliseconds(milliseconds)
  }

  // MARK: Messages

  func signal(_ name: String) {
    guard case .source(let source) = self[name] else { return }
    source.signal(waking: false)
  }

  func write(_ name: String) {
    guard case .descriptor(_, let descriptor) = self[name] else { return }
    eventfd_write(descriptor, 1)
  }

  func hangUp(_ name: String) {
    if let writer = items.writers.withLock({ $0.removeValue(forKey: name) }) { close(writer) }
  }

  func needsWake(for change: Scenario.Action) -> Bool { false }
  func wake() { loop.wakeUp() }
  func stop() { loop.stop() }
  func requestStop(_ mode: String) { loop.requestStop() }

  func perform(_ name: String, in modes: [String]) {
    let block: @Sendable () -> Void = { [host] in host.callout(name, phase: nil) }
    loop.perform(in: modes.map(Self.mode), waking: false, block)
  }

  func addCommonMode(_ mode: String) { loop.addCommonMode(Self.mode(mode)) }

  // MARK: Running

  func run(_ mode: String, milliseconds: Double, handled: Bool) -> RunOutcome {
    // The pseudo mode cannot be run: a precondition, where CFRunLoop returns Finished.
    guard mode != "C" else { return .finished }
    let result =
      milliseconds.isNaN
      ? loop.run(in: Self.mode(mode), returnAfterSourceHandled: handled)
      : loop.run(in: Self.mode(mode), for: .milliseconds(milliseconds), returnAfterSourceHandled: handled)
    return switch result {
    case .finished: .finished
    case .stopped: .stopped
    case .timedOut: .timedOut
    case .handledSource: .handledSource
    }
  }

  func runForever() { loop.run() }

  // MARK: Questions

  var currentMode: String? { loop.currentMode.map(Self.name) }
  var modes: [String] { loop.modes.map(Self.name) }
  var isWaiting: Bool { loop.isWaiting }
  func prepare() {}

  func nextFireDate(in mode: String) -> Double? {
    loop.nextFireDate(in: Self.mode(mode)).map { Watch.milliseconds + ($0 - SuspendingClock.now) / .milliseconds(1) }
  }

  func tearDown() {
    let all = items.byName.withLock { items in
      defer { items = [:] }
      return Array(items.values)
    }
    for case .descriptor(let source, let descriptor) in all {
      source.invalidate()
      close(descriptor)
    }
    for writer in items.writers.withLock({ $0.values }) { close(writer) }
  }
}
