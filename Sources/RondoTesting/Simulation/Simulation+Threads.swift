internal import CLinux
internal import Rondo

/// The threads of hosts beside their main ones: each runs while the thread of the simulation waits.
extension Simulation {
  /// The host whose main thread's code runs at present; nil for code of the test.
  var present: Host? { Loop.standIn.flatMap { loop in hosts.first { $0.loop === loop } } }

  /// The main loop of the process that a loop belongs to.
  func mainLoop(of loop: Loop) -> Loop {
    // Each job of the main actor asks, and few simulations have such threads.
    if agenda.threads.count == hosts.count { return loop }
    for host in hosts where host.started.contains(where: { $0.loop === loop }) { return host.loop }
    return loop
  }

  /// Has a thread run until it stops. The thread of the simulation.
  ///
  /// - Returns: False if the thread needs a lock that the caller may hold. It runs still.
  func giveTurn(to place: ThreadTurns.Place) -> Bool {
    turns.give(to: place)
    return turns.wait(as: turns.first, unlessNeeded: isOvertaken)
  }

  /// Has `body` called when it is the turn of the thread of the simulation, which goes on without.
  func whenTurnComes(_ body: @escaping () -> Void) { owed = body }

  /// Waits until it is the turn of the thread of the simulation.
  ///
  /// - Parameter orGoesOn: Whether the caller goes on without if the thread whose turn it is needs a lock of it.
  /// - Returns: Whether it is its turn.
  @discardableResult
  func takeTurn(orGoesOn: Bool = false) -> Bool {
    guard let owed else { return true }
    guard turns.wait(as: turns.first, unlessNeeded: orGoesOn) else { return false }
    self.owed = nil
    owed()
    return true
  }

  /// Whether the calling thread is one of the simulation, whose turn it is by now.
  func takesTurn() -> Bool {
    guard let scope = ScopeOfTasks.current, scope.simulation === self else { return isOnOwnThread }
    scope.takeTurn()
    return true
  }

  /// Code of a host has posted to a thread of it, and others may go on before it does.
  func hasPosted(to number: Int, _ woken: WokenThreads) {
    // Foreign posts, and those of the test and of other simulations, are not overtaken.
    guard woken === agenda.woken, !isClosing, timeline.seed != nil else { return }
    // A thread that wants a lock of the caller's goes on beside the caller, and runs of one seed differ.
    Lock.assertNoneHeld()
    if let thread = ScopeOfTasks.current?.thread {
      guard thread.takeTurn(orGoesOn: true) else { return }
      let isOvertaken = timeline.happens(oneIn: 2, on: thread.title) {
        "others went on before the thread that had posted"
      }
      if isOvertaken { thread.letOthersGoOn() }
    } else if takeTurn(orGoesOn: true), let target = agenda.threads[number].started, Loop.standIn === target.host.loop {
      letOthersGoOn(of: target.host)
    }
  }

  /// A thread of a host is between two turns of its loop, and others may go on before it does.
  func letOthersGoOn(at thread: HostThread) {
    if thread.host.started.isEmpty || isClosing || timeline.seed == nil { return }
    // The loop's own code goes on after that, which needs its turn.
    defer { thread.takeTurn() }
    guard let started = thread.started else { return letOthersGoOn(of: thread.host) }
    if timeline.happens(oneIn: 4, on: thread.title, { "others went on before the thread's next turn" }) {
      started.letOthersGoOn()
    }
  }

  /// Others of a host may go on before its main thread does.
  private func letOthersGoOn(of host: Host) {
    isOvertaken = true
    defer { isOvertaken = false }
    while owed == nil {
      let others = host.started.filter { $0.isPresent && $0.isConcerned }
      let choice = timeline.choose(among: others.count + 1, on: host.address) {
        "the thread \"\(others[$0 - 1].name)\" went on before the main one"
      }
      if choice == 0 { return }
      _ = others[choice - 1].serve()
    }
  }

  /// Code of a host waits until others have made `condition` true.
  func wait(until condition: () -> Bool) {
    wait(until: .distantFuture, for: condition)
    require(
      condition(),
      """
      Code of a simulated host waits for another thread of it, and nothing is left that could end that wait. \
      \(hosts.flatMap(\.started).map { "\($0.title) \($0.activity)" }.joined(separator: "; ")).
      """)
  }

  /// The same until a date at the latest.
  func wait(until end: Instant, for condition: () -> Bool) {
    if let thread = ScopeOfTasks.current?.takeTurn() { return thread.wait(until: end, for: condition) }
    if !condition() { pass(until: end, for: present?.main, isUrgent: true, stop: condition) }
  }
}
