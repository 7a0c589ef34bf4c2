internal import CLinux
internal import Glibc
public import Rondo

/// A simulated machine with an address and a loop. *the thread of the simulation*
///
/// A host is one process. Its main thread runs the host's loop; a `LoopThread` or a `LoopGroup` that code of the host makes
/// gives it more. Code that runs there makes its sockets on the host.
public final class Host: @unchecked Sendable {
  // Unchecked: all of it belongs to the thread of the simulation.

  /// The address in text, as it was given.
  public let address: String
  /// The loop of the host's thread, in virtual time. Give it items and tasks; the simulation runs it.
  ///
  /// A host that is restarted has another one.
  public var loop: Loop { main.loop }
  /// How many descriptors it may have open; more fail with EMFILE. Nil for any number.
  public var descriptorLimit: Int?
  /// How many descriptors it has open.
  public internal(set) var openDescriptorCount = 0
  /// How many threads a `LoopGroup` of the host has, unless it is told.
  static let processorCount = 2
  /// Whether it has crashed, and was not restarted.
  package private(set) var isDown = false

  let simulation: Simulation
  let ip: [UInt8]
  /// The main thread. A host that is restarted goes on with it.
  @safe @exclusivity(unchecked) private(set) var main: HostThread!
  /// The threads that code of the present process has started, in their order, but for those that have ended.
  @safe @exclusivity(unchecked) private(set) var started: [StartedThread] = []
  /// The main loops of before crashes, which run no more, and their processes' threads.
  private var deadLoops: [Loop] = []
  private var deadThreads: [StartedThread] = []
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
  /// The links to other hosts.
  private var links: [ObjectIdentifier: Link] = [:]
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

  init(_ address: String, _ ip: [UInt8], in simulation: Simulation) {
    self.address = address
    self.ip = ip
    self.simulation = simulation
    realTimeOffset = 1_767_225_600_000_000_000 - simulation.timeline.now.nanoseconds
    main = HostThread(of: self, simulation.agenda.threads.count)
    main.makeLoop()
  }

  /// Calls `body` as the host's thread.
  ///
  /// The host's loop is `Loop.current`, and sockets are made on the host. In `body` you may run the loop: the other hosts then go on, and so does the clock.
  public func run<Result>(_ body: () throws -> Result) rethrows -> Result {
    simulation.checkThread()
    defer { simulation.agenda.note(main) }
    return try main.enter(body)
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
    simulation.agenda.changePresence(of: main) { isDown = true }
    network.endProcess(of: self, hasCrashed: true)
    replaceLoop()
  }

  /// Starts a host that has crashed: with another loop, no sockets, and no tasks.
  ///
  /// Packets of earlier connections get resets as answers.
  public func restart() {
    simulation.checkThread()
    simulation.timeline.noteEvent(on: address) { "the host is restarted" }
    simulation.agenda.changePresence(of: main) { isDown = false }
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
    subscriptions = []
    for thread in started { simulation.agenda.changePresence(of: thread) { thread.script.die() } }
    deadThreads += started
    started = []
    deadLoops.append(loop)
    main.makeLoop()
    simulation.agenda.setDates(of: main)
    simulation.agenda.note(main)
  }

  // MARK: - Threads

  /// Starts a thread for code of the host.
  func makeThread(named name: String, in scope: ScopeOfTasks) -> StartedThread {
    loop.overhear()
    let thread = StartedThread(of: self, simulation.agenda.threads.count, named: name, in: scope)
    started.append(thread)
    simulation.agenda.add(thread)
    return thread
  }

  /// A thread has ended.
  func forget(_ thread: StartedThread) { started.removeAll { $0 === thread } }

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

  /// Whether its loop is in a run that its own code has begun: it goes on where that waits.
  var isRunning: Bool { main.isRunning }

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

  /// Ends the threads that go on still, and says which of the present process they are.
  func endThreads() {
    for thread in started {
      warn(
        """
        The thread "\(thread.name)" of \(address) has not ended with its simulation: its blocks are dropped. Stop it in \
        the test, or release it.
        """)
    }
    for thread in deadThreads + started { thread.end() }
    (started, deadThreads) = ([], [])
  }

  func close() {
    main.forgetCandidates()
    for loop in deadLoops + [loop] { Loop.standingIn(loop) { loop.endVirtual() } }
    (bound, links, onSpawn, children) = ([:], [:], nil, [])
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
