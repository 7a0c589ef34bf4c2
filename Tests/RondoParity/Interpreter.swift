internal import Dispatch
internal import Glibc
internal import Synchronization

/// Carries one scenario out on one engine and writes the trace.
final class Interpreter: CalloutHost, Sendable {
  private let scenario: Scenario
  private let state = Mutex(State())
  /// Scripts by the name they hang on.
  private let scripts: [String: [Scenario.Script]]
  private let voices: [String: Scenario.Voice]
  /// Whether timers become due while it sleeps.
  private let isTimed: Bool
  /// Whether an observer tells of each wait in each mode: in every random scenario.
  private let tellsEveryWait: Bool

  fileprivate struct State {
    var tokens: [String] = []
    var moments: [Outcome.Moment] = []
    var quirks: Set<String> = []
    /// Callouts so far by name, and by name and phase.
    var turns: [String: Int] = [:]
    var engine: (any Engine)?
    var second: SecondThread?
    var secondEngine: (any Engine)?
    var secondThread: pthread_t?
    var loopThread: pthread_t?
    /// What the instants of the scenario count from.
    var started = 0.0
    var stepped = 0.0
    var helper: FreshThread?
    /// The runs of the loop's thread that are under way: when each ends. Monotonic milliseconds, as the others.
    var deadlines: [Double] = []
    /// When the loop was last about to wait.
    var waited = 0.0
    /// Until when a callout kept the loop's thread busy.
    var busyUntil = 0.0
    /// When a callout or a run of the loop's thread last began or ended; infinite while it may sleep.
    var stirred = Double.infinity
    /// Whether the last step has been made.
    var isOver = false
  }

  /// More tokens than any scenario writes; a loop that spins must not fill the memory.
  fileprivate static let longestTrace = 20_000

  init(_ scenario: Scenario) {
    self.scenario = scenario
    scripts = Dictionary(grouping: scenario.scripts, by: \.name)
    var voices: [String: Scenario.Voice] = [:]
    for item in scenario.items {
      if case .observer(_, _, _, let voice) = item.kind { voices[item.name] = voice }
    }
    self.voices = voices
    tellsEveryWait = scenario.items.contains { $0.name == Generator.keptObserver && $0.modes.count == 3 }
    isTimed = scenario.items.contains {
      if case .timer(let milliseconds, _, _) = $0.kind { (0.1...1e3).contains(milliseconds) } else { false }
    }
  }

  /// On the loop's own thread: prepares, runs, waits for the helper.
  func interpret(on engine: any Engine) {
    let started = Watch.milliseconds + (isTimed ? Self.lead : 0)
    state.withLock {
      $0.engine = engine
      $0.started = started
      $0.stepped = started
      $0.loopThread = pthread_self()
    }
    // No two timers have one date.
    for (index, item) in scenario.items.enumerated() {
      engine.make(item, from: isTimed ? started + Double(index) / 1e3 : Watch.milliseconds)
    }
    for item in scenario.items {
      for mode in item.modes { engine.add(item.name, to: mode) }
    }
    engine.prepare()
    sleep(until: started)
    for step in scenario.steps { perform(step, on: engine, nested: false) }
    state.withLock { $0.isOver = true }
    if let helper = state.withLock({ $0.helper.take() }) { _ = helper.join(seconds: 30) }
    if let second = state.withLock({ $0.second.take() }) { second.end() }
  }

  /// From outside: the loop has slept far longer than any scenario lets it.
  func rescue() {
    state.withLock { $0.engine }?.wake()
    // CFRunLoop is known for it; of Rondo it would be an error, so it must show in the trace.
    note(quirk: "Q4")
    write("rescued")
  }

  /// After the thread's end.
  func outcome() -> Outcome {
    let engines = state.withLock { state in
      defer {
        state.engine = nil
        state.secondEngine = nil
      }
      return [state.engine, state.secondEngine]
    }
    for engine in engines { engine?.tearDown() }
    return state.withLock { Outcome(tokens: $0.tokens, moments: $0.moments, quirks: $0.quirks) }
  }

  // MARK: Callouts

  func callout(_ name: String, phase: Phases?) {
    let (turn, turnInPhase, engine, first) = state.withLock { state -> (Int, Int, (any Engine)?, (any Engine)?) in
      state.turns[name, default: 0] += 1
      var turnInPhase = 0
      if let phase {
        let key = "\(name):\(phase.rawValue)"
        state.turns[key, default: 0] += 1
        turnInPhase = state.turns[key]!
        switch voices[name] {
        case .phase?: state.write(phase.token)
        case .named?: state.write("\(name):\(phase.token)")
        case .silent?, nil: break
        }
      } else {
        state.write(name)
        if state.moments.count < Self.longestTrace {
          state.moments.append(.init(name: name, milliseconds: Watch.milliseconds - state.started))
        }
      }
      // On the second thread a script means that thread's loop.
      let second = state.secondThread.map { pthread_equal($0, pthread_self()) != 0 } ?? false
      return (state.turns[name]!, turnInPhase, second ? state.secondEngine : state.engine, second ? state.engine : nil)
    }
    guard let engine else { return }
    noteStall()
    defer { state.withLock { $0.stirred = phase == .beforeWaiting ? .infinity : Watch.milliseconds } }
    if let phase, voices[name] == .phase { noteWait(phase, engine) }
    for script in scripts[name] ?? [] {
      if let wanted = script.phase, wanted != phase { continue }
      if let wanted = script.turn, wanted != (script.phase == nil ? turn : turnInPhase) { continue }
      for action in script.actions {
        // Invalidation reaches the first thread's loop as well, from this one.
        if let first, case .invalidate = action {
          perform(.waking(action), on: first, nested: true)
        } else {
          perform(action, on: engine, nested: true)
        }
      }
    }
  }

  func announce(_ sign: String, of name: String, mode: String) {
    write(sign + mode)
    guard let scripts = scripts[sign + name] else { return }
    let (turn, engine) = state.withLock { state -> (Int, (any Engine)?) in
      state.turns[sign + name, default: 0] += 1
      // What a source does while its loop dies concerns nobody.
      return (state.turns[sign + name]!, state.isOver ? nil : state.engine)
    }
    guard let engine else { return }
    for script in scripts where script.turn == nil || script.turn == turn {
      for action in script.actions { perform(action, on: engine, nested: true) }
    }
  }

  func note(quirk: String) {
    state.withLock { _ = $0.quirks.insert(quirk) }
  }

  private func write(_ token: String) {
    state.withLock { $0.write(token) }
  }

  // MARK: Actions

  private func perform(_ action: Scenario.Action, on engine: any Engine, nested: Bool) {
    switch action {
    case .run(let mode, let milliseconds, let handled):
      if nested {
        write("(")
      } else {
        startHelper()
      }
      let result = measured(milliseconds) { engine.run(mode, milliseconds: milliseconds, handled: handled) }
      write("-> \(result.rawValue)")
      if nested { write(")") }
    case .runForever:
      startHelper()
      engine.runForever()
      write("returned")
    case .signal(let name): engine.signal(name)
    case .write(let name): engine.write(name)
    case .wake: engine.wake()
    case .stop: engine.stop()
    case .requestStop(let mode): engine.requestStop(mode)
    case .block(let name, let modes): engine.perform(name, in: modes)
    case .onMainQueue(let name): DispatchQueue.main.async { self.callout(name, phase: nil) }
    case .add(let name, let mode): engine.add(name, to: mode)
    case .remove(let name, let mode): engine.remove(name, from: mode)
    case .invalidate(let name): engine.invalidate(name)
    case .commonMode(let mode): engine.addCommonMode(mode)
    case .setFireDate(let name, let milliseconds): engine.setFireDate(name, milliseconds: milliseconds)
    case .busy(let milliseconds):
      keepBusy(until: Watch.milliseconds + milliseconds)
    case .busyUntil(let milliseconds):
      keepBusy(until: state.withLock { $0.started } + milliseconds)
    case .waking(let change):
      let needsWake = engine.needsWake(for: change)
      perform(change, on: engine, nested: nested)
      if needsWake { engine.wake() }
    case .hangUp(let name): engine.hangUp(name)
    case .interruptLoopThread:
      // A handler that does nothing: the call must only interrupt.
      Glibc.signal(SIGUSR1, { _ in })
      if let thread = state.withLock({ $0.loopThread }) { pthread_kill(thread, SIGUSR1) }
    case .probe(let probe): ask(probe, engine)
    case .elsewhere(let actions): elsewhere(actions)
    case .endElsewhere:
      state.withLock({ $0.second.take() })?.end()
    }
  }

  private func keepBusy(until end: Double) {
    guard Watch.milliseconds < end else { return }
    sleep(until: end)
    state.withLock { $0.busyUntil = Watch.milliseconds }
  }

  // MARK: Lateness

  /// Sleeps for the scenario. A machine that oversleeps may pass another instant, and then the trace says nothing.
  private func sleep(until milliseconds: Double) {
    Watch.sleep(until: milliseconds)
    noteLateness(since: milliseconds)
  }

  private func noteLateness(since milliseconds: Double) {
    if isTimed, Watch.milliseconds > milliseconds + Self.patience { note(quirk: "late") }
  }

  /// A run whose end comes late leaves its successor less time before the next instant, or serves more than was meant.
  private func measured(_ milliseconds: Double, _ run: () -> RunOutcome) -> RunOutcome {
    // A second thread's runs sleep in no scenario.
    guard isLoopThread else { return run() }
    let start = Watch.milliseconds
    state.withLock {
      $0.stepped = start
      $0.stirred = start
      $0.deadlines.append(milliseconds > 0 ? start + milliseconds : .infinity)
    }
    let result = run()
    let end = state.withLock { max($0.deadlines.removeLast(), $0.busyUntil) }
    if Watch.milliseconds > end + (isTimed ? Self.patience : Self.nestedPatience) { note(quirk: "late") }
    return result
  }

  /// Right before and right after a wait: whether it ended when what it waited for came.
  private func noteWait(_ phase: Phases, _ engine: any Engine) {
    guard isTimed || tellsEveryWait, isLoopThread, phase == .beforeWaiting || phase == .afterWaiting else { return }
    let now = Watch.milliseconds
    guard phase == .afterWaiting else { return state.withLock { $0.waited = now } }
    let (deadline, waited) = state.withLock { ($0.deadlines.last ?? .infinity, max($0.waited, $0.busyUntil)) }
    let date = engine.currentMode.flatMap(engine.nextFireDate) ?? .infinity
    let isLate = now > max(waited, min(deadline, date)) + Self.patience
    // Which of two events the kernel tells of first is another question than which comes first.
    let isBoth = waited < min(deadline, date) && max(deadline, date) <= now
    if isLate || isBoth { note(quirk: "late") }
  }

  /// Whether the thread stood still between two callouts without sleeping: what became due meanwhile says nothing.
  private func noteStall() {
    guard tellsEveryWait, isLoopThread else { return }
    let now = Watch.milliseconds
    if state.withLock({ now > $0.stirred + Self.patience }) { note(quirk: "late") }
  }

  private var isLoopThread: Bool {
    state.withLock { $0.loopThread.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
  }

  /// Milliseconds; from any instant or end to the next instant there is at least one.
  private static let patience = 0.8
  /// Where nothing but the ends of nested runs takes time.
  private static let nestedPatience = 2.0
  /// Milliseconds in which a timed scenario is set up.
  private static let lead = 6.0

  private func ask(_ probe: Scenario.Probe, _ engine: any Engine) {
    switch probe {
    case .contains(let name, let mode): write("\(name)@\(mode)=\(engine.contains(name, in: mode) ? 1 : 0)")
    case .valid(let name): write("valid(\(name))=\(engine.isValid(name) ? 1 : 0)")
    case .signalled(let name): write("signalled(\(name))=\(engine.isSignalled(name) ? 1 : 0)")
    case .currentMode: write("mode=\(engine.currentMode ?? "none")")
    case .modes: write("modes=\(engine.modes.sorted().joined(separator: ","))")
    case .waiting: write("waiting=\(engine.isWaiting ? 1 : 0)")
    case .hasFireDate(let mode): write("date(\(mode))=\(engine.nextFireDate(in: mode) == nil ? 0 : 1)")
    case .elapsed(let least):
      // A fifth of a millisecond: CFRunLoop's dates are doubles of seconds since 2001.
      let elapsed = Watch.milliseconds - state.withLock { $0.stepped }
      write(elapsed > least - 0.2 ? "late>=\(Int(least))" : "early(\(elapsed)<\(Int(least)))")
    }
  }

  private func elsewhere(_ actions: [Scenario.Action]) {
    let second = state.withLock { state -> SecondThread in
      let second = state.second ?? SecondThread()
      state.second = second
      return second
    }
    second.run { [self] in
      let engine = state.withLock { state -> (any Engine)? in
        if state.secondEngine == nil {
          state.secondEngine = state.engine?.forCallingThread()
          state.secondThread = pthread_self()
        }
        return state.secondEngine
      }
      guard let engine else { return }
      for action in actions { perform(action, on: engine, nested: false) }
    }
  }

  private func startHelper() {
    state.withLock { state in
      guard state.helper == nil, !scenario.helper.isEmpty, let engine = state.engine else { return }
      let begun = Watch.milliseconds
      state.helper = FreshThread { [self] in
        for timed in scenario.helper {
          sleep(until: begun + timed.milliseconds)
          for action in timed.actions { perform(action, on: engine, nested: false) }
          // It may have been stopped right after it looked at the clock.
          noteLateness(since: begun + timed.milliseconds)
        }
      }
    }
  }
}

extension Interpreter.State {
  fileprivate mutating func write(_ token: String) {
    if tokens.count < Interpreter.longestTrace { tokens.append(token) }
  }
}
