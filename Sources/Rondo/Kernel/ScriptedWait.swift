import CLinux
import Synchronization

/// Waiting in virtual time: the clock jumps to the next deadline or scripted event. No syscalls. *loop thread*
package final class ScriptedWait {
  /// *atomic* The clock: any task may ask it.
  private let clock: Atomic<Int64>
  /// What happens while the loop sleeps, by time.
  private var events: [Event] = []
  /// Whether the run shall end, instead of trapping, when nothing would end its sleep.
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

  /// Drops the events that will not happen any more.
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

  /// Readiness told by script; consumed by the next wait in a mode that holds the source, or one of that descriptor.
  private var readiness: [(subject: Subject, readiness: Loop.DescriptorSource.Readiness)] = []
  /// Whether the kernel is asked as well what is ready.
  package var looksAtDescriptors = false

  private enum Subject {
    case source(Loop.DescriptorSource)
    case descriptor(CInt)
  }

  /// *constant* once set. How the loop names a source in its records; nil if it is not in that mode of this loop.
  var token: ((Loop.DescriptorSource, ModeState) -> Token?)?
  /// *constant* once set. The loop's descriptor sources, of whatever mode.
  var sources: (() -> [Loop.DescriptorSource])?

  /// Makes a descriptor source ready, once.
  package func makeReady(_ source: Loop.DescriptorSource, _ ready: Loop.DescriptorSource.Readiness) {
    readiness.append((.source(source), ready))
  }

  /// Makes the sources of a descriptor ready, once.
  package func makeReady(_ descriptor: CInt, _ ready: Loop.DescriptorSource.Readiness) {
    readiness.append((.descriptor(descriptor), ready))
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
    contract(next != .distantFuture, "The loop would sleep for ever: no timer, deadline or scripted event is left.")
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
    if !readiness.isEmpty {
      readiness.removeAll { entry in
        switch entry.subject {
        case .source(let source): tell(source, entry.readiness, frame)
        case .descriptor(let descriptor):
          // All of them are told, as the kernel would.
          sources?().filter { $0.descriptor == descriptor && tell($0, entry.readiness, frame) }.isEmpty == false
        }
      }
    }
    if looksAtDescriptors { look(frame) }
  }

  /// - Returns: Whether the source is in the mode, and wants to be told.
  private func tell(
    _ source: Loop.DescriptorSource, _ readiness: Loop.DescriptorSource.Readiness, _ frame: RunFrame
  ) -> Bool {
    let told = readiness.intersection(source.enabled)
    guard !told.isEmpty, let token = token?(source, frame.mode) else { return false }
    frame.ready.append(ReadyDescriptor(token: token, readiness: told))
    return true
  }

  /// Asks the kernel what is ready, of what is enabled: one poll(2) for each direction of each source.
  private func look(_ frame: RunFrame) {
    for source in sources?() ?? [] {
      var ready: Loop.DescriptorSource.Readiness = []
      if source.enabled.contains(.read), rondo_is_ready(source.descriptor, 0) != 0 { ready.insert(.read) }
      if source.enabled.contains(.write), rondo_is_ready(source.descriptor, 1) != 0 { ready.insert(.write) }
      _ = tell(source, ready, frame)
    }
  }
}
