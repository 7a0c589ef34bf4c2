internal import Rondo
internal import RondoInspect
internal import Synchronization

/// A `LoopThread` of a simulated host: a real thread that runs while the simulation waits for it.
final class StartedThread: HostThread, VirtualThread, @unchecked Sendable {
  let name: String
  /// What it does, as the simulation knows it.
  private enum State {
    case notStarted
    case running
    /// Its loop sleeps.
    case asleep
    /// Others go on before it does.
    case overtaken
    /// It waits for what others do.
    case blocked(() -> Bool)
    case ended
  }

  @safe @exclusivity(unchecked) private var state = State.notStarted
  /// Whether it goes on without its turn, because another thread waits for a lock that it may hold. *the thread itself*
  @safe @exclusivity(unchecked) private var runsBeside = false
  /// *constant* once it has begun.
  @safe @exclusivity(unchecked) private var endLife: (@Sendable () -> Void)?
  /// *atomic*
  private let isOver = Atomic(false)
  private let scope: ScopeOfTasks
  private let place: ThreadTurns.Place

  init(of host: Host, _ number: Int, named name: String, in scope: ScopeOfTasks) {
    self.name = name
    self.scope = scope
    place = ThreadTurns.Place(UInt32(number) + 1)
    super.init(of: host, number)
  }

  private var turns: ThreadTurns { simulation.turns }
  override var started: StartedThread? { self }
  override var title: String { "\(host.address), thread \"\(name)\"" }
  override var hasEnded: Bool { isOver.load(ordering: .acquiring) }
  override var isPresent: Bool { super.isPresent && !script.isDead && !hasEnded }

  override var isConcerned: Bool {
    switch state {
    case .notStarted: endLife != nil
    case .overtaken: true
    case .asleep: super.isConcerned
    case .blocked(let condition): condition() || wakeDate <= simulation.timeline.now
    case .running, .ended: false
    }
  }

  /// What it does, in words.
  var activity: String {
    switch state {
    case .notStarted: "has not begun"
    case .running: "runs"
    case .asleep: "sleeps"
    case .overtaken: "is to go on"
    case .blocked: "waits for a thread, too"
    case .ended: "has ended"
    }
  }

  // MARK: - The thread that has the loop made

  func makeLoop(of thread: NewThread) -> Loop {
    makeLoop(of: thread as NewThread?)
    loop.overhear()
    return loop
  }

  func begin(end: @escaping @Sendable () -> Void) { endLife = end }
  func forgo() { simulation.agenda.changePresence(of: self) { finish() } }

  // MARK: - The thread itself

  func run(_ life: () -> Void) {
    turns.wait(as: place)
    state = .running
    let own = ScopeOfTasks(of: self, in: scope)
    Loop.within(own) { ThreadSampler.lookingPossible { Loop.standingIn(loop, life) } }
    takeTurn()
    finish()
    turns.give(to: turns.first)
  }

  /// Lets others go on until the loop has something to do.
  func sleep() { stop(.asleep) }

  /// Lets others go on, and goes on later.
  func letOthersGoOn() { stop(.overtaken) }

  /// Lets others go on until `condition` is true, or `end` has come.
  func wait(until end: Instant, for condition: () -> Bool) {
    withoutActuallyEscaping(condition) { condition in
      script.sleep(until: end)
      stop(.blocked(condition))
    }
  }

  private func stop(_ state: State) {
    self.state = state
    turns.give(to: turns.first)
    // One that waits or sleeps is not where a lock of the program's is held for long.
    let isOvertaken = if case .overtaken = state { true } else { false }
    runsBeside = true
    takeTurn(orGoesOn: isOvertaken)
  }

  @discardableResult
  override func takeTurn(orGoesOn: Bool = false) -> Bool {
    if !runsBeside { return true }
    guard turns.wait(as: place, unlessNeeded: orGoesOn) else { return false }
    (runsBeside, state) = (false, .running)
    return true
  }

  private func finish() {
    state = .ended
    isOver.store(true, ordering: .releasing)
    host.forget(self)
  }

  // MARK: - The thread of the simulation

  override func serve() -> Bool {
    if isConcerned || isAsleep { return super.serve() }
    // What it waits for, others may do.
    if !hasEnded { simulation.agenda.note(self) }
    return false
  }

  override func go() -> Bool { simulation.giveTurn(to: place) }

  private var isAsleep: Bool { if case .asleep = state { true } else { false } }
  // What came while others had overtaken it on its way to its sleep has woken nobody.
  override var isQuiet: Bool { isAsleep && !isConcerned || hasEnded }
  override var isBusy: Bool { !isQuiet || hasEnded }
  override func countsAsAsleep() -> Bool { true }

  /// Has the thread end without its blocks, unless it waits for what will not happen.
  func end() {
    endLife?()
    var turns = 0
    while !hasEnded, isConcerned, turns < 1_000 {
      _ = go()
      turns += 1
    }
    if !hasEnded { warn("The thread \(title) goes on to wait for what its simulation will not do.") }
  }
}
