internal import CLinux
internal import Glibc
internal import Rondo

/// How the loop of a simulated host's thread waits: others go on, or the simulation does. *the loop's thread*
final class HostScript: WaitScript, @unchecked Sendable {
  private let timeline: Timeline
  unowned let thread: HostThread
  /// Whether the simulation runs the loop, until it would sleep.
  @safe @exclusivity(unchecked) var isServed = false
  /// When the loop that the simulation runs wants to go on.
  @safe @exclusivity(unchecked) private(set) var wakeDate = Instant.distantPast
  /// When its next timer is due.
  @safe @exclusivity(unchecked) private(set) var fireDate = Instant.distantPast
  /// Whether that run has come to its sleep.
  @safe @exclusivity(unchecked) private(set) var isAsleep = false
  /// The sources of descriptors that the kernel has, each with the bits of its modes.
  @safe @exclusivity(unchecked) private(set) var real: [(source: Loop.DescriptorSource, modes: UInt64)] = []
  /// When the thread's process ended.
  @safe @exclusivity(unchecked) private var death: Instant?
  /// How many waits of the host's own runs are under way.
  @safe @exclusivity(unchecked) private(set) var depth = 0

  init(_ thread: HostThread) {
    self.thread = thread
    timeline = thread.simulation.timeline
  }

  private var host: Host { thread.host }
  var now: Instant { death ?? timeline.now }
  /// Whether the process has ended.
  var isDead: Bool { death != nil }

  /// The process ends: the clock stands from now on.
  func die() { death = timeline.now }

  var isSeeded: Bool { timeline.seed != nil }

  /// The thread waits outside of its loop, until then at the latest.
  func sleep(until date: Instant) { (wakeDate, fireDate) = (date, .distantFuture) }

  func beginServing() {
    (isServed, isAsleep) = (true, false)
    (wakeDate, fireDate) = (.distantFuture, .distantFuture)
  }

  func choose(among count: Int, _ name: StaticString) -> Int {
    thread.takeTurn()
    return timeline.chooseFirst(among: count, name, on: thread.title)
  }
  func close() {}

  func call(_ call: rondo_call, _ first: Int, _ second: Int) -> Int {
    thread.takeTurn()
    return host.network.call(call, on: host, first, second)
  }

  func lookUp(_ name: String, _ answer: @escaping (SimulatedAddresses) -> Void) -> Bool {
    // Another thread than the loop's may ask.
    ScopeOfTasks.current?.takeTurn()
    let simulation = host.simulation
    let fault = simulation.faults.strike(.lookUp, on: host)
    if fault == ETIMEDOUT { return true }
    let reply = {
      switch fault {
      case 0: answer(.found(simulation.names[name] ?? []))
      case ENOENT: answer(.found([]))
      default: answer(.unavailable)
      }
    }
    if simulation.nameLatency <= .zero {
      reply()
    } else {
      let date = timeline.now.advanced(by: simulation.nameLatency.saturatingNanoseconds)
      simulation.disturb(at: date, on: host.address, reply)
    }
    return true
  }

  func watch(_ source: Loop.DescriptorSource, in mode: UInt64) {
    thread.takeTurn()
    if let endpoint = host.network.endpoint(source.descriptor) { return endpoint.watch(source, in: mode, by: thread) }
    if let place = real.firstIndex(where: { $0.source === source }) {
      real[place].modes |= mode
    } else {
      real.append((source, mode))
    }
  }

  func unwatch(_ source: Loop.DescriptorSource, in mode: UInt64) {
    thread.takeTurn()
    if let endpoint = host.network.endpoint(source.descriptor) { return endpoint.unwatch(source, in: mode) }
    guard let place = real.firstIndex(where: { $0.source === source }) else { return }
    real[place].modes &= ~mode
    if real[place].modes == 0 { real.remove(at: place) }
  }

  /// The sources of the turn's mode that the kernel says are ready: files, pipes and others that are not simulated.
  private func readyReal(_ turn: ScriptedTurn) -> [(Loop.DescriptorSource, Loop.DescriptorSource.Readiness)] {
    real.compactMap { source, modes in
      guard modes & turn.mode != 0 else { return nil }
      let ready = source.askedOfKernel
      return ready.isEmpty ? nil : (source, ready)
    }
  }

  private func collect(_ turn: ScriptedTurn) {
    thread.collect(turn)
    for (source, ready) in readyReal(turn) { _ = turn.collect(source, ready) }
  }

  func wait(_ turn: ScriptedTurn, until deadline: Instant, blocks: Bool) -> Bool {
    thread.takeTurn()
    timeline.countTurn()
    thread.simulation.letOthersGoOn(at: thread)
    if !isServed, thread.started == nil { timeline.runDueEvents() }
    collect(turn)
    guard blocks, !turn.isReady, deadline > now else { return true }
    if let started = thread.started {
      (wakeDate, fireDate, isAsleep) = (deadline, turn.fireDate, true)
      started.sleep()
      collect(turn)
      return true
    }
    if isServed, !turn.isNested {
      (wakeDate, fireDate, isAsleep) = (deadline, turn.fireDate, true)
      return false
    }
    // Code of the host has begun this run, in a callout or by `Host.run`.
    depth += 1
    let isServed = isServed
    self.isServed = false
    defer {
      depth -= 1
      self.isServed = isServed
    }
    let hasTime = thread.simulation.pass(until: deadline, for: thread) { [self] in
      thread.hasNews || thread.loop.isPostedTo || !readyReal(turn).isEmpty
    }
    collect(turn)
    return hasTime
  }
}
