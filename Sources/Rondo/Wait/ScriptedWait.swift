import Synchronization

/// Waiting in virtual time: the clock jumps to the next deadline or scripted event. No syscalls. *loop thread*
package final class ScriptedWait {
  /// *atomic* The clock: any task may ask it.
  private let clock: Atomic<Int64>
  /// What happens while the loop sleeps, by time.
  private var events: [Event] = []
  /// Whether the run shall end, instead of trapping, when it would sleep for ever.
  package var endsWhenIdle = true
  /// The latest instant the clock may jump to; a sleep beyond ends the run.
  package var horizon = Instant.distantFuture
  /// How often the loop slept.
  package private(set) var sleeps = 0

  private struct Event {
    let time: Instant
    let action: () -> Void
  }

  package init(start: Instant) {
    clock = Atomic(start.nanoseconds)
  }

  package private(set) var now: Instant {
    get { Instant(nanoseconds: clock.load(ordering: .relaxed)) }
    set { clock.store(newValue.nanoseconds, ordering: .relaxed) }
  }

  /// Has `action` happen at `time`, on the loop's thread, while the loop sleeps or looks.
  package func schedule(at time: Instant, _ action: @escaping () -> Void) {
    let place = events.firstIndex { $0.time > time } ?? events.count
    events.insert(Event(time: time, action: action), at: place)
  }

  /// Lets go of what will not happen any more.
  func close() {
    let events = self.events
    self.events = []
    _ = events
  }

  /// The time of the next scripted event.
  package var nextEvent: Instant {
    events.first?.time ?? .distantFuture
  }

  /// Moves the clock without running the loop, as a busy callout would.
  package func pass(_ nanoseconds: Int64) {
    now = now.advanced(by: nanoseconds)
  }

  /// Readiness told by script, by source; consumed by the next wait in a mode that holds the source.
  private var readiness: [(source: Loop.DescriptorSource, readiness: Loop.DescriptorSource.Readiness)] = []

  /// The same by descriptor, for sources that nobody outside can name.
  private var readyDescriptors: [(descriptor: CInt, readiness: Loop.DescriptorSource.Readiness)] = []

  /// *constant* once set. The loop's sources of a descriptor in a mode, as it names them in its records.
  var sources: ((CInt, ModeState) -> [(source: Loop.DescriptorSource, token: Token)])?

  /// *constant* once set. How the loop names a source in its records; nil if it is not in that mode of this loop.
  var token: ((Loop.DescriptorSource, ModeState) -> Token?)?

  /// Makes a descriptor source ready, once.
  package func makeReady(_ source: Loop.DescriptorSource, _ ready: Loop.DescriptorSource.Readiness) {
    readiness.append((source, ready))
  }

  /// Makes every source of a descriptor ready that wants to hear it, once.
  package func makeReady(_ descriptor: CInt, _ ready: Loop.DescriptorSource.Readiness) {
    readyDescriptors.append((descriptor, ready))
  }

  func wait(_ frame: RunFrame, until deadline: Instant, blocks: Bool) -> WaitOutcome {
    runDueEvents()
    collect(frame)
    guard blocks, frame.ready.isEmpty, deadline > now else { return .looked }
    let next = min(deadline, nextEvent)
    if next > horizon || (next == .distantFuture && endsWhenIdle) {
      if horizon != .distantFuture { now = max(now, horizon) }
      return .exhausted
    }
    precondition(next != .distantFuture, "The loop would sleep for ever: no timer, deadline or scripted event is left.")
    sleeps += 1
    now = max(now, next)
    runDueEvents()
    collect(frame)
    return .looked
  }

  private func runDueEvents() {
    while let event = events.first, event.time <= now {
      events.removeFirst()
      event.action()
    }
  }

  private func collect(_ frame: RunFrame) {
    collectSources(frame)
    collectDescriptors(frame)
  }

  private func collectDescriptors(_ frame: RunFrame) {
    guard let sources, !readyDescriptors.isEmpty else { return }
    readyDescriptors.removeAll { entry in
      var isTold = false
      for (source, token) in sources(entry.descriptor, frame.mode) {
        let told = entry.readiness.intersection(source.enabled)
        guard !told.isEmpty else { continue }
        frame.ready.append(ReadyDescriptor(token: token, readiness: told))
        isTold = true
      }
      return isTold
    }
  }

  private func collectSources(_ frame: RunFrame) {
    guard let token else { return }
    guard !readiness.isEmpty else { return }
    readiness.removeAll { entry in
      guard let token = token(entry.source, frame.mode) else { return false }
      let told = entry.readiness.intersection(entry.source.enabled)
      guard !told.isEmpty else { return false }
      frame.ready.append(ReadyDescriptor(token: token, readiness: told))
      return true
    }
  }
}
