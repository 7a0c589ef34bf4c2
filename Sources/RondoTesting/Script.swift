internal import CLinux
internal import Glibc
internal import Rondo

/// Virtual time of one loop: the clock jumps to the next deadline or scripted event. *loop thread*
final class Script: WaitScript {
  /// *constant*
  let timeline: Timeline
  /// How often the loop slept.
  private(set) var sleeps = 0

  init(start: Instant, seed: Seed?) {
    timeline = Timeline(start: start, seed: seed)
  }

  var now: Instant { timeline.now }
  var isSeeded: Bool { timeline.seed != nil }

  func choose(among count: Int, _ name: StaticString) -> Int { timeline.chooseFirst(among: count, name) }
  func close() { timeline.close() }

  func call(_ call: rondo_call, _ first: Int, _ second: Int) -> Int { -Int(ENOSYS) }
  func lookUp(_ host: String, _ answer: @escaping (SimulatedAddresses) -> Void) -> Bool { false }
  func watch(_ source: Loop.DescriptorSource, in mode: UInt64) {}
  func unwatch(_ source: Loop.DescriptorSource, in mode: UInt64) {}

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
    timeline.countTurn()
    timeline.runDueEvents()
    collect(turn)
    guard blocks, !turn.isReady, deadline > now else { return true }
    let next = min(deadline, timeline.nextEvent)
    guard next < .distantFuture else { return false }
    sleeps += 1
    timeline.advance(to: next)
    timeline.noteEvent { "the loop wakes" }
    timeline.runDueEvents()
    collect(turn)
    return true
  }

  private func collect(_ turn: ScriptedTurn) {
    timeline.permute(&readiness, "ready descriptor")
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

  private func poll(_ turn: ScriptedTurn) {
    var found = turn.sources.compactMap { source in
      let ready = source.askedOfKernel
      return ready.isEmpty ? nil : (source: source, readiness: ready)
    }
    timeline.permute(&found, "ready descriptor")
    for (source, readiness) in found { _ = turn.collect(source, readiness) }
  }
}

extension Loop.DescriptorSource {
  /// What is ready of what is enabled, as the kernel says: one poll(2) for each of that.
  var askedOfKernel: Readiness {
    var ready: Readiness = []
    if enabled.contains(.read), rondo_is_ready(descriptor, 0) != 0 { ready.insert(.read) }
    if enabled.contains(.write), rondo_is_ready(descriptor, 1) != 0 { ready.insert(.write) }
    if enabled.contains(.closed), rondo_has_hung_up(descriptor) != 0 { ready.insert(.closed) }
    return ready
  }
}
