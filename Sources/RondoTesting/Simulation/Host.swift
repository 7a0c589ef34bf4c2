internal import CLinux
internal import Glibc
public import Rondo

/// A simulated machine with an address and a loop. *the thread of the simulation*
///
/// A host is one process with one thread, which runs the host's loop. Code that runs there makes its sockets on the host.
public final class Host: @unchecked Sendable {
  // Unchecked: all of it belongs to the thread of the simulation.

  /// The address in text, as it was given.
  public let address: String
  /// The loop of the host's thread, in virtual time. Give it items and tasks; the simulation runs it.
  ///
  /// A host that is restarted has another one.
  public private(set) var loop: Loop
  /// How many descriptors it may have open; more fail with EMFILE. Nil for any number.
  public var descriptorLimit: Int?
  /// How many descriptors it has open.
  public internal(set) var openDescriptorCount = 0
  /// Whether it has crashed, and was not restarted.
  package private(set) var isDown = false

  let simulation: Simulation
  /// Its place among the hosts.
  let number: Int
  /// Whether the agenda has noted that it may have something to do.
  @safe @exclusivity(unchecked) var isNoted = false
  /// How many of its runs and waits are under way: it is served when they are over.
  @safe @exclusivity(unchecked) private var uses = 0
  let ip: [UInt8]
  @safe @exclusivity(unchecked) private var script: HostScript
  /// The loops of before crashes, which run no more.
  private var deadLoops: [Loop] = []
  /// *its own lock* What `start` has started and has not ended, by number.
  private let tasks = Guarded<[Int: Started]>([:])
  private var lastTask = 0
  var subscriptions: [SignalEndpoint] = []
  var clockTimers: [ClockEndpoint] = []
  private var realTimeOffset: Int64
  private var children: [SimulatedChild] = []
  /// By whether they are streams, and their addresses. A wildcard stands as itself.
  private var bound: [Binding: Endpoint] = [:]
  private var lastPort: UInt16 = 32_767
  /// The socket files there have been: they stay.
  private var paths: Set<[UInt8]> = []
  @safe @exclusivity(unchecked) private var candidates: [Endpoint] = []
  /// The links to other hosts.
  private var links: [ObjectIdentifier: Link] = [:]
  /// When its loop wants to go on.
  var wakeDate: Instant { script.wakeDate }
  /// When the next timer of its loop is due.
  var fireDate: Instant { script.fireDate }
  /// Whether its loop can be served.
  var isPresent: Bool { !isDown && uses == 0 }

  /// A task, and where in the source it was started.
  private struct Started {
    let task: Task<Void, any Error>
    let loop: Loop
    let place: String
  }

  private struct Binding: Hashable {
    let isStream: Bool
    let address: NetworkAddress

    init(isStream: Bool, address: NetworkAddress) { (self.isStream, self.address) = (isStream, address) }

    init(_ endpoint: Endpoint, _ address: NetworkAddress) {
      self.init(isStream: endpoint is StreamEndpoint, address: address)
    }
  }

  init(_ address: String, _ ip: [UInt8], _ number: Int, in simulation: Simulation) {
    self.address = address
    self.ip = ip
    self.number = number
    self.simulation = simulation
    realTimeOffset = 1_767_225_600_000_000_000 - simulation.timeline.now.nanoseconds
    (script, loop) = Self.makeLoop(number, simulation)
    script.host = self
  }

  private static func makeLoop(_ number: Int, _ simulation: Simulation) -> (HostScript, Loop) {
    let script = HostScript(simulation.timeline)
    let woken = simulation.agenda.woken
    return (script, Loop.makeVirtual(script) { woken.add(number) })
  }

  /// Calls `body` as the host's thread.
  ///
  /// The host's loop is `Loop.current`, and sockets are made on the host. In `body` you may run the loop: the other hosts then go on, and so does the clock.
  public func run<Result>(_ body: () throws -> Result) rethrows -> Result {
    simulation.checkThread()
    defer { simulation.agenda.note(self) }
    return try enter(body)
  }

  private func enter<Result>(_ body: () throws -> Result) rethrows -> Result {
    loop.returnFromOutside()
    return try Loop.standingIn(loop, body)
  }

  /// Starts a task on the host's loop.
  ///
  /// It runs while the simulation runs. When the scope of the simulation ends, the task is cancelled, and runs as far as it can at that date.
  @discardableResult
  public func start(
    fileID: StaticString = #fileID, line: UInt = #line, _ body: @escaping @Sendable () async throws -> Void
  ) -> Task<Void, any Error> {
    simulation.checkThread()
    lastTask += 1
    let number = lastTask
    let task = Task(executorPreference: loop) { [tasks] in
      defer { tasks.withLock { $0[number] = nil } }
      try await body()
    }
    // It begins when the loop runs.
    tasks.withLock { $0[number] = Started(task: task, loop: loop, place: "\(fileID):\(line)") }
    return task
  }

  /// Ends the host without a word to its peers; its loop runs no more.
  ///
  /// Packets that peers send wait at the link. After 15 minutes the peers' streams fail with ETIMEDOUT.
  public func crash() {
    simulation.checkThread()
    require(!isRunning, "A host cannot crash while its own code runs its loop: crash it from the test, or by `at`.")
    if isDown { return }
    simulation.timeline.noteEvent(on: address) { "the host crashes" }
    simulation.agenda.changePresence(of: self) { isDown = true }
    network.endProcess(of: self, hasCrashed: true)
    replaceLoop()
  }

  /// Starts a host that has crashed: with another loop, no sockets, and no tasks.
  ///
  /// Packets of earlier connections get resets as answers.
  public func restart() {
    simulation.checkThread()
    simulation.timeline.noteEvent(on: address) { "the host is restarted" }
    simulation.agenda.changePresence(of: self) { isDown = false }
    for other in simulation.hosts where !link(to: other).isCut { link(to: other).goOn() }
  }

  // MARK: - Signals

  /// Sends a signal to the host's process, for its `SignalSource`s.
  ///
  /// Without one, the process ends, whatever the signal: the kernel closes its sockets, its tasks and its loop run no more,
  /// and the host has another loop for the next process.
  public func send(signal: CInt) {
    simulation.checkThread()
    simulation.timeline.noteEvent(on: address) { "signal \(signal) comes" }
    let told = subscriptions.filter { $0.signal == signal }
    for subscription in told { subscription.deliver() }
    if told.isEmpty { endProcess() }
  }

  /// Ends the host's process: the kernel closes its descriptors.
  private func endProcess() {
    require(!isRunning, "A process cannot end while its own code runs its loop: end it from the test, or by `at`.")
    network.endProcess(of: self, hasCrashed: false)
    replaceLoop()
  }

  private func replaceLoop() {
    candidates = []
    subscriptions = []
    deadLoops.append(loop)
    (script, loop) = Self.makeLoop(number, simulation)
    script.host = self
    simulation.agenda.setDates(of: self)
    simulation.agenda.note(self)
  }

  // MARK: - The clock on the wall

  /// The time since 1970 on the host's clock of real time.
  ///
  /// It begins at 2026-01-01 00:00:00 UTC. Setting it is a jump of the clock.
  public var realTime: Duration {
    get { .nanoseconds(realTimeNanoseconds) }
    set {
      simulation.checkThread()
      realTimeOffset = newValue.saturatingNanoseconds - simulation.timeline.now.nanoseconds
      for timer in clockTimers { timer.clockWasSet() }
    }
  }

  var realTimeNanoseconds: Int64 { simulation.timeline.now.nanoseconds + realTimeOffset }

  // MARK: - Children

  /// Called when code of the host starts a program by `ChildSource`.
  ///
  /// Nil at first: no program is found then.
  public var onSpawn: ((SimulatedChild) -> Void)?

  @unsafe func spawn(_ executable: Int, _ arguments: Int) -> Int {
    guard let onSpawn else { return -Int(ENOENT) }
    let path = unsafe String(cString: UnsafePointer<CChar>(bitPattern: executable)!)
    var words: [String] = []
    var next = unsafe UnsafePointer<UnsafePointer<CChar>?>(bitPattern: arguments)!
    while let word = unsafe next.pointee {
      unsafe words.append(String(cString: word))
      unsafe next += 1
    }
    let child = SimulatedChild(CInt(1_000 + children.count), path, Array(words.dropFirst()))
    children.append(child)
    onSpawn(child)
    return Int(child.process)
  }

  func child(_ process: CInt) -> SimulatedChild? {
    children.first { $0.process == process && !$0.wasReaped }
  }

  // MARK: - The simulation

  var network: Network { simulation.network }

  /// Runs the loop until it would sleep.
  ///
  /// - Returns: Whether it has called out.
  func serve() -> Bool {
    let (loop, script, agenda) = (loop, script, simulation.agenda)
    let (before, observed) = (loop.callouts, loop.observerCallouts)
    script.beginServing()
    uses += 1
    agenda.beginServing(self)
    let result = enter { loop.run(in: .default, until: Instant.distantFuture.suspending) }
    script.isServed = false
    uses -= 1
    agenda.endServing(self)
    let callouts = loop.callouts - before
    let hasCalledOut = callouts > 0
    if hasCalledOut {
      simulation.timeline.noteEvent(on: address) {
        "the loop calls out, \(callouts == 1 ? "once" : "\(callouts) times")"
      }
    }
    // Observers are called in each round as well, and so are those asked who watch what is not simulated.
    let isRestless =
      hasCalledOut || !script.isAsleep && result != .finished || loop.observerCallouts != observed
      || !candidates.isEmpty || !script.real.isEmpty
    if isRestless || !loop.sleepsOutside() { agenda.note(self) }
    return hasCalledOut
  }

  /// Code of the host waits for others.
  func beginWaiting() { simulation.agenda.changePresence(of: self) { uses += 1 } }
  func endWaiting() { simulation.agenda.changePresence(of: self) { uses -= 1 } }

  /// Whether its loop is in a run that its own code has begun: it goes on where that waits.
  var isRunning: Bool { script.depth > 0 }
  /// Whether the readiness of an endpoint may have changed since the loop looked.
  @safe @exclusivity(unchecked) private(set) var hasNews = false
  /// Whether its loop may have something to do.
  var isConcerned: Bool {
    hasNews || !script.real.isEmpty || script.wakeDate <= simulation.timeline.now || loop.isPostedTo
  }

  /// Cancels what was started, in its order.
  func cancelTasks() {
    for (_, started) in tasks.withLock({ $0.sorted { $0.key < $1.key } }) { started.task.cancel() }
  }

  /// Says which of them go on after they were cancelled: what they wait for, no host does.
  func tellOfTasksLeft() {
    for (_, started) in tasks.withLock({ $0.sorted { $0.key < $1.key } }) where started.loop === loop && !isDown {
      warn(
        """
        The task that \(started.place) has started on \(address) has not ended with its simulation, though it was cancelled. \
        It waits for what does not end by that: another task, a thread, a queue of Dispatch, or a continuation.
        """)
    }
  }

  func close() {
    candidates = []
    for loop in deadLoops + [loop] { Loop.standingIn(loop) { loop.endVirtual() } }
    (bound, links, onSpawn, children) = ([:], [:], nil, [])
  }

  // MARK: - Readiness

  func look(at endpoint: Endpoint) {
    hasNews = true
    simulation.agenda.note(self)
    if endpoint.isCandidate { return }
    endpoint.isCandidate = true
    candidates.append(endpoint)
  }

  func collect(_ turn: ScriptedTurn) {
    if candidates.isEmpty { return }
    var looked = candidates
    candidates = []
    simulation.timeline.permute(&looked, "descriptor", on: address)
    for endpoint in looked {
      endpoint.isCandidate = false
      if endpoint.collect(turn) { look(at: endpoint) }
    }
    // What is left is for another mode, or was collected.
    hasNews = false
  }

  // MARK: - Addresses

  /// - Returns: 0, or minus errno.
  func bind(_ endpoint: Endpoint, to address: NetworkAddress) -> Int {
    var address = address
    switch address {
    case .internet(let ip, let port):
      guard NetworkAddress.isWildcard(ip) || NetworkAddress.isLoopback(ip) || ip == self.ip
      else { return -Int(EADDRNOTAVAIL) }
      if port == 0 {
        guard let free = freePort(endpoint, ip) else { return -Int(EADDRINUSE) }
        address = .internet(ip, port: free)
      }
      if isTaken(endpoint, address) { return -Int(EADDRINUSE) }
    case .path(let name):
      if isTaken(endpoint, address) || paths.contains(name) { return -Int(EADDRINUSE) }
      if !address.isAbstract { paths.insert(name) }
    case .unnamed: return -Int(EINVAL)
    }
    endpoint.local = address
    bound[Binding(endpoint, address)] = endpoint
    return 0
  }

  func bindToAnyPort(_ endpoint: Endpoint, facing ip: [UInt8]? = nil) -> Int {
    if endpoint.family == AF_UNIX { return -Int(EINVAL) }
    let wildcard = [UInt8](repeating: 0, count: endpoint.family == AF_INET ? 4 : 16)
    let own = ip.map { NetworkAddress.isLoopback($0) ? $0 : self.ip } ?? wildcard
    return bind(endpoint, to: .internet(own, port: 0))
  }

  private func freePort(_ endpoint: Endpoint, _ ip: [UInt8]) -> UInt16? {
    for _ in 32_768...60_999 {
      lastPort = lastPort >= 60_999 ? 32_768 : lastPort + 1
      if !isTaken(endpoint, .internet(ip, port: lastPort)) { return lastPort }
    }
    return nil
  }

  private func isTaken(_ endpoint: Endpoint, _ address: NetworkAddress) -> Bool {
    bound[Binding(endpoint, address)] != nil
  }

  /// What is bound to an address, or to every address of the host.
  func endpoint(at address: NetworkAddress, isStream: Bool) -> Endpoint? {
    if let found = bound[Binding(isStream: isStream, address: address)] { return found }
    guard case .internet(let ip, let port) = address else { return nil }
    let wildcard = NetworkAddress.internet([UInt8](repeating: 0, count: ip.count), port: port)
    return bound[Binding(isStream: isStream, address: wildcard)]
  }

  func hasPath(_ address: NetworkAddress) -> Bool {
    if case .path(let name) = address { paths.contains(name) } else { false }
  }

  func unbind(_ endpoint: Endpoint) {
    let binding = Binding(endpoint, endpoint.local)
    if bound[binding] === endpoint { bound[binding] = nil }
  }

  /// The way to another host, or to the host itself.
  func link(to other: Host) -> Link {
    if let link = links[ObjectIdentifier(other)] { return link }
    let link = Link(self, other, latency: other === self ? .zero : simulation.latency)
    links[ObjectIdentifier(other)] = link
    other.links[ObjectIdentifier(self)] = link
    return link
  }
}
