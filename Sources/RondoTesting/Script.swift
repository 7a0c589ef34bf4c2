internal import CLinux
internal import Rondo
import Synchronization

/// Virtual time: the clock jumps to the next deadline or scripted event. *loop thread*
final class Script: WaitScript {
  /// *atomic* The clock: any task may ask it.
  private let clock: Atomic<Int64>
  /// What happens while the loop sleeps, by time.
  private var events: [Event] = []
  /// Whether the run shall end, instead of trapping, when nothing would end its sleep.
  var endsWhenIdle = true
  /// The latest instant the clock may jump to; a sleep beyond ends the run.
  var horizon = Instant.distantFuture
  /// How often the loop slept.
  private(set) var sleeps = 0

  private struct Event {
    let time: Instant
    let action: () -> Void
  }

  /// Chooses where the contract leaves the order open; the documented order without one.
  private let seed: Seed?
  private let log = ChoiceLog.current
  /// How many choices there have been.
  private var choices = 0

  init(start: Instant, seed: Seed?) {
    clock = Atomic(start.nanoseconds)
    self.seed = seed
  }

  func choose(among count: Int) -> Int {
    guard let seed, count > 1 else { return 0 }
    defer { choices += 1 }
    let choice = seed.choice(at: choices, among: count)
    if choice != 0 { log?.note(choices) }
    return choice
  }

  private(set) var now: Instant {
    get { Instant(nanoseconds: clock.load(ordering: .relaxed)) }
    set { clock.store(newValue.nanoseconds, ordering: .relaxed) }
  }

  /// Has `action` happen at `time`, on the loop's thread, while the loop sleeps or looks.
  func schedule(at time: Instant, _ action: @escaping () -> Void) {
    let place = events.firstIndex { $0.time > time } ?? events.count
    events.insert(Event(time: time, action: action), at: place)
  }

  /// Drops the events that will not happen any more.
  func close() {
    let events = self.events
    self.events = []
    _ = events
  }

  /// The time of the next scripted event.
  var nextEvent: Instant {
    events.first?.time ?? .distantFuture
  }

  /// Moves the clock without running the loop, as a busy callout would.
  func pass(_ nanoseconds: Int64) {
    now = now.advanced(by: nanoseconds)
  }

  /// Readiness told by script; consumed by the next wait in a mode that holds the source, or one of that descriptor.
  private var readiness: [(subject: Subject, readiness: Loop.DescriptorSource.Readiness)] = []
  /// Whether the kernel is asked as well what is ready.
  var looksAtDescriptors = false

  private enum Subject {
    case source(Loop.DescriptorSource)
    case descriptor(CInt)
  }

  /// Makes a descriptor source ready, once.
  func makeReady(_ source: Loop.DescriptorSource, _ ready: Loop.DescriptorSource.Readiness) {
    readiness.append((.source(source), ready))
  }

  /// Makes the sources of a descriptor ready, once.
  func makeReady(_ descriptor: CInt, _ ready: Loop.DescriptorSource.Readiness) {
    readiness.append((.descriptor(descriptor), ready))
  }

  func wait(_ turn: ScriptedTurn, until deadline: Instant, blocks: Bool) -> Bool {
    runDueEvents()
    collect(turn)
    guard blocks, !turn.isReady, deadline > now else { return true }
    let next = min(deadline, nextEvent)
    if next > horizon || (next == .distantFuture && endsWhenIdle) {
      if horizon != .distantFuture { now = max(now, horizon) }
      return false
    }
    require(next != .distantFuture, "The loop would sleep for ever: no timer, deadline or scripted event is left.")
    sleeps += 1
    now = max(now, next)
    runDueEvents()
    collect(turn)
    return true
  }

  private func runDueEvents() {
    while let next = events.first, next.time <= now {
      // Each may be another thread's.
      let tied = events.prefix { $0.time == next.time }.count
      events.remove(at: choose(among: tied)).action()
    }
  }

  private func collect(_ turn: ScriptedTurn) {
    permute(&readiness)
    readiness.removeAll { entry in
      switch entry.subject {
      case .source(let source): turn.collect(source, entry.readiness)
      case .descriptor(let descriptor):
        // All of its sources, as the kernel would.
        !turn.sources.filter { $0.descriptor == descriptor && turn.collect($0, entry.readiness) }.isEmpty
      }
    }
    if looksAtDescriptors { poll(turn) }
  }

  /// Asks the kernel what is ready, of what is enabled: one poll(2) for each direction of each source.
  private func poll(_ turn: ScriptedTurn) {
    var found = turn.sources.compactMap { source in
      var ready: Loop.DescriptorSource.Readiness = []
      if source.enabled.contains(.read), rondo_is_ready(source.descriptor, 0) != 0 { ready.insert(.read) }
      if source.enabled.contains(.write), rondo_is_ready(source.descriptor, 1) != 0 { ready.insert(.write) }
      return ready.isEmpty ? nil : (source: source, readiness: ready)
    }
    permute(&found)
    for (source, readiness) in found { _ = turn.collect(source, readiness) }
  }

  private func permute<Element>(_ things: inout [Element]) {
    for place in things.indices { things.swapAt(place, place + choose(among: things.count - place)) }
  }
}
