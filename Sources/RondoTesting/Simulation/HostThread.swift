internal import Rondo

/// A thread of a simulated host, with its loop: the main one, or one that code has started. *the thread of the simulation*
class HostThread: @unchecked Sendable {
  // Unchecked: all of it belongs to the threads of the simulation, of which one runs at a time.

  unowned let host: Host
  /// Its place among the threads of all hosts.
  let number: Int
  /// Its loop, in virtual time. The main thread of a process that takes the place of another has a loop of its own.
  @safe @exclusivity(unchecked) private(set) var loop: Loop!
  @safe @exclusivity(unchecked) private(set) var script: HostScript!
  /// Whether the agenda has noted that it may have something to do.
  @safe @exclusivity(unchecked) var isNoted = false
  /// How many of its runs and waits are under way: it is served when they are over.
  @safe @exclusivity(unchecked) private var uses = 0
  /// Whether the loop's last run had nothing to run for.
  @safe @exclusivity(unchecked) private var hasFinished = false
  @safe @exclusivity(unchecked) private var candidates: [Endpoint] = []
  /// Whether the readiness of an endpoint may have changed since the loop looked.
  @safe @exclusivity(unchecked) private(set) var hasNews = false

  init(of host: Host, _ number: Int) { (self.host, self.number) = (host, number) }

  /// Gives it a loop, in place of that of a process that has ended.
  func makeLoop(of thread: NewThread? = nil) {
    forgetCandidates()
    script = HostScript(self)
    loop = Loop.makeVirtual(script, of: thread) { [woken = simulation.agenda.woken, number] in
      let scope = ScopeOfTasks.current
      woken.add(number, isStray: scope == nil)
      scope?.simulation?.hasPosted(to: number, woken)
    }
  }

  var simulation: Simulation { host.simulation }
  /// Itself, if code has started it.
  var started: StartedThread? { nil }
  /// What stories call it.
  var title: String { host.address }
  /// When its loop wants to go on.
  var wakeDate: Instant { script.wakeDate }
  /// When the next timer of its loop is due.
  var fireDate: Instant { script.fireDate }
  /// Whether it can be served.
  var isPresent: Bool { !host.isDown && uses == 0 }
  /// Whether it will do nothing more.
  var hasEnded: Bool { false }
  /// Whether its loop is in a run that its own code has begun.
  var isRunning: Bool { script.depth > 0 }
  /// Whether its loop may have something to do.
  var isConcerned: Bool {
    hasNews || !script.real.isEmpty || script.wakeDate <= simulation.timeline.now || loop.isPostedTo
  }

  /// Waits until it is its turn, if it goes on without. The thread itself.
  @discardableResult
  func takeTurn(orGoesOn: Bool = false) -> Bool { simulation.takeTurn(orGoesOn: orGoesOn) }

  /// Runs code as the thread.
  func enter<Result>(_ body: () throws -> Result) rethrows -> Result {
    loop.returnFromOutside()
    return try Loop.standingIn(loop, body)
  }

  // MARK: - Turns

  /// Runs the loop until it would sleep.
  ///
  /// - Returns: Whether others may have something to do by that.
  func serve() -> Bool {
    let (before, observed) = (loop.callouts, loop.observerCallouts)
    script.beginServing()
    uses += 1
    simulation.agenda.beginServing(self)
    if go() { return endServing(since: before, observed) }
    simulation.whenTurnComes { [self] in _ = endServing(since: before, observed) }
    return true
  }

  private func endServing(since before: UInt64, _ observed: UInt64) -> Bool {
    let agenda = simulation.agenda
    uses -= 1
    agenda.endServing(self)
    let callouts = loop.callouts - before
    if callouts > 0 {
      simulation.timeline.noteEvent(on: title) {
        "the loop calls out, \(callouts == 1 ? "once" : "\(callouts) times")"
      }
    }
    // Observers are called in each round as well, and so are those asked who watch what is not simulated.
    let isRestless =
      callouts > 0 || !isQuiet || loop.observerCallouts != observed || !candidates.isEmpty || !script.real.isEmpty
    if isRestless || !countsAsAsleep() { agenda.note(self) }
    return callouts > 0 || isBusy
  }

  /// Has the thread go on.
  ///
  /// - Returns: False if it does so still, beside the thread of the simulation.
  func go() -> Bool {
    let loop = loop!
    let result = enter { loop.run(in: .default, until: Instant.distantFuture.suspending) }
    script.isServed = false
    hasFinished = result == .finished
    return true
  }

  /// Whether its loop sleeps, or has nothing to run for.
  var isQuiet: Bool { script.isAsleep || hasFinished }
  /// Whether it has stopped at some place in its code, and may have done anything before.
  var isBusy: Bool { false }

  /// Has posts tell that they are there.
  ///
  /// - Returns: False if there is one already.
  func countsAsAsleep() -> Bool { loop.sleepsOutside() }

  /// Code of it waits for others.
  func beginWaiting() { simulation.agenda.changePresence(of: self) { uses += 1 } }
  func endWaiting() { simulation.agenda.changePresence(of: self) { uses -= 1 } }

  // MARK: - Readiness

  func look(at endpoint: Endpoint) {
    hasNews = true
    simulation.agenda.note(self)
    if endpoint.isCandidate(of: self) { return }
    endpoint.setCandidate(of: self, true)
    candidates.append(endpoint)
  }

  func collect(_ turn: ScriptedTurn) {
    if candidates.isEmpty { return }
    var looked = candidates
    candidates = []
    simulation.timeline.permute(&looked, "descriptor", on: title)
    for endpoint in looked {
      endpoint.setCandidate(of: self, false)
      if endpoint.collect(turn, for: self) { look(at: endpoint) }
    }
    // What is left is for another mode, or was collected.
    hasNews = false
  }

  func forgetCandidates() { candidates = [] }
}
