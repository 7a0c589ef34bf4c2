internal import CLinux
internal import Rondo

/// Hosts, the network between them and their clock, in one test.
///
/// Sockets that are made on a host carry bytes in memory, from host to host. Each host has a loop; the simulation runs them
/// one after the other, on the thread of the scope, and moves the clock when all of them sleep. The same seed gives the
/// same run. Use it on the thread of the scope.
public final class Simulation: @unchecked Sendable {
  // Unchecked: all of it but the clock belongs to the thread of the simulation.

  /// The faults of the hosts' system calls, and of their connections.
  public let faults: Faults
  /// The hosts, in the order in which they were made.
  public private(set) var hosts: [Host] = []
  /// The addresses of each host name, in the order in which to try them.
  ///
  /// The resolvers of all hosts answer with them immediately. A name that is not here is not found.
  public var names: [String: [String]] = [:]
  /// The latency of links that are made from then on.
  ///
  /// 100 microseconds at first. A link is made when it is asked for, or used.
  public var latency = Duration.microseconds(100)

  let timeline: Timeline
  private(set) var network: Network!
  private let start: Instant
  private let thread = rondo_thread_pointer()
  private var isOver = false
  /// How many turns there have been at one date, and at which.
  private var turns = 0
  private var turnDate = Instant.distantPast
  /// Whether code of the test has run, which may have done something to any loop.
  private var isDisturbed = true

  fileprivate init(_ seed: Seed?) {
    start = VirtualLoop.start
    timeline = Timeline(start: start, seed: seed)
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
    return timeline.choose(among: count)
  }

  // MARK: - Time

  /// Calls `action` when `offset` has passed since the scope began, while all loops sleep.
  public func at(_ offset: Duration, _ action: @escaping () -> Void) {
    checkThread()
    timeline.schedule(at: start.advanced(by: offset.saturatingNanoseconds)) { [unowned self] in
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
  /// - Parameter waiting: The host that waits, and does not run.
  /// - Returns: False if nothing is left that would happen before `end`, and `end` is never.
  @discardableResult
  func pass(until end: Instant, for waiting: Host? = nil, stop: () -> Bool) -> Bool {
    isDisturbed = true
    while true {
      countTurn()
      network.closeLate()
      timeline.runDueEvents()
      var order = hosts.filter { !$0.isDown && !$0.isRunning && $0 !== waiting }
      timeline.permute(&order)
      let concernsAll = isDisturbed
      isDisturbed = false
      for host in order where concernsAll || host.isConcerned {
        // What a host calls may do something to any other.
        if host.serve() { isDisturbed = true }
      }
      if isDisturbed { continue }
      if timeline.nextEvent <= timeline.now { continue }
      if stop() { return true }
      let wake = hosts.reduce(Instant.distantFuture) { $1 === waiting || $1.isRunning ? $0 : min($0, $1.wakeDate) }
      let next = min(end, timeline.nextEvent, wake)
      guard next < .distantFuture else { return false }
      timeline.advance(to: next)
      if next >= end, timeline.nextEvent > end { return true }
    }
  }

  /// Ends a run in which the clock will never move again.
  func countTurn() {
    if timeline.now != turnDate { (turns, turnDate) = (0, timeline.now) }
    turns += 1
    require(
      turns < 200_000,
      "The clock stands still, because hosts call out without end: does a task wait for something by Task.yield()?")
  }

  func checkThread() {
    require(!isOver, "The scope of this simulation has ended. Use it, and its hosts, inside.")
    require(rondo_thread_pointer() == thread, "A simulation belongs on the thread of its scope. Use it from there.")
  }

  fileprivate func close() {
    for host in hosts { host.cancelTasks() }
    pass(until: timeline.now) { false }
    timeline.close()
    network.close()
    for host in hosts { host.close() }
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
  defer { simulation.close() }
  return try body(simulation)
}
