internal import CLinux
internal import Rondo
internal import Synchronization

/// Hosts, the network between them and their clock, in one test.
///
/// Sockets that are made on a host carry bytes in memory, from host to host. Each host has a loop; the simulation runs them
/// one after the other, on the thread of the scope, and moves the clock when all of them sleep. A thread that code of a host
/// starts runs while that one waits. The same seed gives the same run. Use it on the thread of the scope.
public final class Simulation: @unchecked Sendable {
  // Unchecked: all of it but the clock belongs to the thread of the simulation.

  /// The faults of the hosts' system calls, and of their connections.
  public let faults: Faults
  /// The hosts, in the order in which they were made.
  public private(set) var hosts: [Host] = []
  /// The addresses of each host name, in the order in which to try them.
  ///
  /// The resolvers of all hosts answer with what is here when `nameLatency` has passed. A name that is not here is not
  /// found. `faults.fail(.lookUp, with: EAGAIN)` has name servers that do not reply.
  public var names: [String: [String]] = [:]
  /// How long a lookup of a name takes. Zero at first.
  public var nameLatency = Duration.zero
  /// The latency of links that are made from then on.
  ///
  /// 100 microseconds at first. A link is made when it is asked for, or used.
  public var latency = Duration.microseconds(100)

  let timeline: Timeline
  /// What the hosts have to do.
  let agenda: HostAgenda
  /// How often a host was asked whether it has something to do, or for its place among others.
  package var questions: Int { agenda.questions }
  private(set) var network: Network!
  private let start: Instant
  private let thread = rondo_thread_pointer()
  @safe @exclusivity(unchecked) private var isOver = false
  /// *atomic* How many of its runs are under way, one in another.
  private let passes = Atomic(0)
  /// Whether it runs hosts at present. Any thread.
  fileprivate var isPassing: Bool { passes.load(ordering: .relaxed) > 0 || !turns.isOfFirst }
  /// Which of its threads runs.
  let turns = ThreadTurns()
  /// Whether others go on before code of a host's main thread does, which may hold locks of the program's.
  @safe @exclusivity(unchecked) var isOvertaken = false
  /// What is to be done before the thread of the simulation has its turn again; nil if it has it.
  @safe @exclusivity(unchecked) var owed: (() -> Void)?
  @safe @exclusivity(unchecked) private(set) var isClosing = false
  /// Whether code of the test has run, which may have done something to any loop.
  @safe @exclusivity(unchecked) private var isDisturbed = true

  fileprivate init(_ seed: Seed?) {
    start = VirtualLoop.start
    timeline = Timeline(start: start, seed: seed)
    agenda = HostAgenda(timeline)
    faults = Faults(timeline)
    network = Network(self)
  }

  /// The seed that picks orders and faults.
  ///
  /// Nil for the documented orders, without faults by chance.
  public var seed: Seed? { timeline.seed }
  /// The virtual time since the scope began.
  public var elapsed: Duration { .nanoseconds(timeline.now.nanoseconds - start.nanoseconds) }
  /// The present date of the virtual clock.
  public var now: SuspendingClock.Instant { timeline.now.suspending }

  // MARK: - Hosts

  /// Makes a host.
  ///
  /// - Parameter address: Its address of IPv4 or IPv6, which no other host has.
  public func host(_ address: String) -> Host {
    checkThread()
    let ip = NetworkAddress.parse(address)
    require(
      ip.map { !NetworkAddress.isLoopback($0) && !NetworkAddress.isWildcard($0) } ?? false,
      "A host's address is one of IPv4 or IPv6 that other hosts can reach, not \"\(address)\".")
    require(!hosts.contains { $0.ip == ip }, "There is a host \(address) already.")
    let host = Host(address, ip!, in: self)
    hosts.append(host)
    agenda.add(host.main)
    return host
  }

  /// The way between two hosts.
  public func link(_ one: Host, _ other: Host) -> Link { one.link(to: other) }

  /// Lets nothing through between the hosts of a group and all others.
  public func partition(_ group: [Host]) {
    for host in group {
      for other in hosts where !group.contains(where: { $0 === other }) { link(host, other).cut() }
    }
  }

  /// Lets everything through again, between all hosts.
  public func heal() {
    for (place, host) in hosts.enumerated() {
      for other in hosts[..<place] { link(host, other).heal() }
    }
  }

  func host(at ip: [UInt8], seenFrom host: Host) -> Host? {
    if NetworkAddress.isLoopback(ip) || NetworkAddress.isWildcard(ip) { return host }
    return hosts.first { $0.ip == ip }
  }

  /// Returns a number below `count` that the seed picks.
  ///
  /// For what the test itself leaves to chance. 0 without a seed, and where the seed leaves the choice out.
  public func choose(among count: Int) -> Int {
    checkThread()
    require(count > 0, "There is nothing to choose among \(count).")
    return timeline.choose(among: count) { "the test's own choice was \($0) of 0 to \(count - 1)" }
  }

  // MARK: - Time

  /// Calls `action` when `offset` has passed since the scope began, while all loops sleep.
  public func at(_ offset: Duration, _ action: @escaping () -> Void) {
    checkThread()
    disturb(at: start.advanced(by: offset.saturatingNanoseconds)) { [unowned timeline] in
      timeline.noteEvent { "the test's action" }
      action()
    }
  }

  /// Has something happen at a date that may concern any loop.
  func disturb(at date: Instant, on host: String? = nil, _ action: @escaping () -> Void) {
    timeline.schedule(at: date, on: host) { [unowned self] in
      isDisturbed = true
      action()
    }
  }

  /// Moves the clock forward in a callout, as work would.
  public func spend(_ duration: Duration) {
    timeline.advance(to: timeline.now.advanced(by: duration.saturatingNanoseconds))
  }

  /// Runs all hosts for `duration` of virtual time.
  public func run(for duration: Duration) {
    checkThread()
    let end = timeline.now.advanced(by: duration.saturatingNanoseconds)
    pass(until: end) { false }
    timeline.advance(to: end)
    // What is due at the end still happens.
    pass(until: end) { false }
  }

  /// Runs all hosts until `condition` is true, or `duration` of virtual time has passed.
  ///
  /// The condition is looked at whenever all loops would sleep.
  ///
  /// - Returns: Whether the condition is true.
  @discardableResult
  public func run(until condition: () -> Bool, for duration: Duration = .seconds(3_600)) -> Bool {
    checkThread()
    pass(until: timeline.now.advanced(by: duration.saturatingNanoseconds), stop: condition)
    return condition()
  }

  /// Runs hosts and moves the clock, until `end`, or until `stop` is true.
  ///
  /// - Parameters:
  ///   - waiting: The thread that waits, and does not run.
  ///   - isUrgent: Whether `stop` is asked after each round, and not only when all loops would sleep.
  /// - Returns: False if nothing is left that would happen before `end`, and `end` is never.
  @discardableResult
  func pass(until end: Instant, for waiting: HostThread? = nil, isUrgent: Bool = false, stop: () -> Bool) -> Bool {
    isDisturbed = true
    waiting?.beginWaiting()
    passes.add(1, ordering: .relaxed)
    defer {
      passes.subtract(1, ordering: .relaxed)
      waiting?.endWaiting()
    }
    while true {
      timeline.countTurn()
      network.closeLate()
      timeline.runDueEvents()
      let concernsAll = isDisturbed
      isDisturbed = false
      // What a host calls may do something to any other.
      if agenda.serveRound(concernsAll: concernsAll) { isDisturbed = true }
      if isUrgent, stop() { return true }
      if isDisturbed { continue }
      if timeline.nextEvent <= timeline.now { continue }
      if stop() { return true }
      let next = min(end, timeline.nextEvent, agenda.nextWake)
      guard next < .distantFuture else { return false }
      timeline.advance(to: next)
      if next >= end, timeline.nextEvent > end { return true }
    }
  }

  var isOnOwnThread: Bool { rondo_thread_pointer() == thread }

  func checkThread() {
    require(!isOver, "The scope of this simulation has ended. Use it, and its hosts, inside.")
    require(isOnOwnThread, "A simulation belongs on the thread of its scope. Use it from there.")
  }

  fileprivate func close() {
    for host in hosts { host.cancelTasks() }
    pass(until: timeline.now) { false }
    for host in hosts { host.tellOfTasksLeft() }
    isClosing = true
    for host in hosts { host.endThreads() }
    timeline.close()
    network.close()
    for host in hosts { host.close() }
    agenda.close()
    hosts = []
    isOver = true
  }
}

/// Runs `body` with simulated hosts, in virtual time. Not from async code.
///
/// - Parameter seed: Picks the order where loops' contracts leave it open, the order of hosts, and faults by chance. Nil for
///   the documented orders.
@available(*, noasync, message: "A simulation belongs to a thread; use it in a synchronous test.")
public func withSimulation<Result>(
  seed: Seed? = Seed.current, _ body: (Simulation) throws -> Result
) rethrows -> Result {
  let simulation = Simulation(seed)
  func run() throws -> Result {
    defer { simulation.close() }
    return try body(simulation)
  }
  return try Loop.within(ScopeOfTasks(of: simulation)) {
    try RealTimeWatch.during(
      simulation.timeline, thread: { simulation.turns.thread }, isRunning: { simulation.isPassing }, run)
  }
}
