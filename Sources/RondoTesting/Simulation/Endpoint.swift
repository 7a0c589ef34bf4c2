internal import CLinux
internal import Glibc
internal import Rondo

/// A simulated socket. *the thread of the simulation*
///
/// An answer below zero is minus errno, as in all of the machine.
class Endpoint {
  unowned let host: Host
  /// AF_UNIX, AF_INET or AF_INET6.
  let family: CInt
  /// In place of an inode: no other endpoint has it.
  let serial: UInt64
  /// -1 before it is accepted, and once it is closed.
  var descriptor: CInt = -1
  var local = NetworkAddress.unnamed
  var remote: NetworkAddress?
  /// What SO_ERROR has.
  var error: CInt = 0
  private var options: [[CInt]: CInt] = [:]
  /// The sources that watch it, each with the bits of its modes.
  private(set) var watchers: [Watcher] = []
  /// How often something has changed that epoll would tell an edge-triggered source of.
  private var edges = 0
  /// Whether it stands in the main thread's list of what to look at.
  private var isCandidateOfMain = false
  /// The other threads in whose lists it stands.
  private var candidateOf: [HostThread] = []
  /// Whether the process that had it has ended.
  var isAbandoned = false

  struct Watcher {
    let source: Loop.DescriptorSource
    unowned let thread: HostThread
    var modes: UInt64
    /// What it wanted when it was asked last. The kernel tells of readiness again where that changes.
    var wanted: Loop.DescriptorSource.Readiness
    /// The edges that it was told; -1 for none.
    var told = -1
  }

  init(on host: Host, family: CInt) {
    self.host = host
    self.family = family
    serial = host.network.nextSerial()
  }

  var network: Network { host.network }
  var timeline: Timeline { host.simulation.timeline }
  var isOpen: Bool { descriptor >= 0 }
  var type: CInt { 0 }

  // MARK: - Readiness

  /// What poll(2) would say at present.
  var readiness: Loop.DescriptorSource.Readiness { [] }

  /// Whether neither end sends any more.
  var hasHungUp: Bool { false }

  /// Something of its readiness has changed.
  func hasChanged() {
    edges += 1
    for watcher in watchers { watcher.thread.look(at: self) }
  }

  /// Whether it stands in a thread's list of what to look at.
  func isCandidate(of thread: HostThread) -> Bool {
    thread === host.main ? isCandidateOfMain : candidateOf.contains { $0 === thread }
  }

  func setCandidate(of thread: HostThread, _ isCandidate: Bool) {
    if thread === host.main {
      isCandidateOfMain = isCandidate
    } else if isCandidate {
      candidateOf.append(thread)
    } else {
      candidateOf.removeAll { $0 === thread }
    }
  }

  func watch(_ source: Loop.DescriptorSource, in mode: UInt64, by thread: HostThread) {
    if let place = watchers.firstIndex(where: { $0.source === source }) {
      watchers[place].modes |= mode
      if watchers[place].wanted != source.enabled {
        (watchers[place].wanted, watchers[place].told) = (source.enabled, -1)
      }
    } else {
      watchers.append(Watcher(source: source, thread: thread, modes: mode, wanted: source.enabled))
    }
    thread.look(at: self)
  }

  func unwatch(_ source: Loop.DescriptorSource, in mode: UInt64) {
    guard let place = watchers.firstIndex(where: { $0.source === source }) else { return }
    watchers[place].modes &= ~mode
    if watchers[place].modes == 0 { watchers.remove(at: place) }
  }

  /// Has a turn collect what is ready.
  ///
  /// - Returns: Whether the next turn has to look again.
  func collect(_ turn: ScriptedTurn, for thread: HostThread) -> Bool {
    let ready = readiness
    var isWanted = false
    for place in watchers.indices where watchers[place].thread === thread {
      let source = watchers[place].source
      guard !ready.isDisjoint(with: source.enabled), source.trigger == .level || watchers[place].told != edges
      else { continue }
      let isTold = turn.collect(source, ready)
      if isTold, source.trigger == .edge { watchers[place].told = edges } else { isWanted = true }
    }
    return isWanted
  }

  /// The events of poll(2) that are true, of those asked for.
  func poll(_ events: Int) -> Int {
    let ready = readiness
    var found: Int32 = 0
    if ready.contains(.read) { found |= POLLIN }
    if ready.contains(.write) { found |= POLLOUT }
    // POLLRDHUP, which needs _GNU_SOURCE.
    if ready.contains(.closed) { found |= 0x2000 }
    if error != 0 { found |= POLLERR }
    if hasHungUp { found |= POLLHUP }
    return Int(found) & (events | Int(POLLERR | POLLHUP))
  }

  // MARK: - Calls

  /// What getsockname(2) tells.
  var nameToTell: NetworkAddress {
    if local != .unnamed || family == AF_UNIX { return local }
    return .internet([UInt8](repeating: 0, count: family == AF_INET ? 4 : 16), port: 0)
  }

  func bind(_ address: NetworkAddress) -> Int {
    guard local == .unnamed else { return -Int(EINVAL) }
    return host.bind(self, to: address)
  }

  func listen(backlog: Int) -> Int { -Int(EOPNOTSUPP) }
  func accept() -> (Int, NetworkAddress?) { (-Int(EOPNOTSUPP), nil) }
  /// The first connection that waits has failed.
  func abortFirst() {}
  func connect(_ address: NetworkAddress) -> Int { -Int(EOPNOTSUPP) }
  func send(_ bytes: UnsafeRawBufferPointer, to address: NetworkAddress?) -> Int { -Int(EOPNOTSUPP) }
  func sendUrgent() -> Int { -Int(EOPNOTSUPP) }
  /// How many bytes there were, of a datagram also those without room.
  func receive(_ room: UnsafeMutableRawBufferPointer) -> (Int, NetworkAddress?) { (-Int(EOPNOTSUPP), nil) }
  func shutDown(reading: Bool, writing: Bool) -> Int { 0 }
  func close() {}
  /// The host has crashed: nothing is said to the peer.
  func vanish() {}
  /// The simulation ends.
  func forget() {}

  /// What SO_ERROR says, which is then forgotten.
  func takeError() -> CInt {
    defer { error = 0 }
    return error
  }

  func option(_ level: CInt, _ name: CInt) -> Int {
    if level == SOL_SOCKET {
      switch name {
      case SO_TYPE: return Int(type)
      case SO_ERROR: return Int(takeError())
      default: break
      }
    }
    return Int(options[[level, name]] ?? 0)
  }

  // MARK: - Calls on what is no socket

  /// Arms a timer for a date of its clock; 0 disarms it.
  func arm(_ nanoseconds: Int64) -> Int { -Int(EINVAL) }
  /// Looks whether a child has ended.
  func look(reaps: Bool, _ told: UnsafeMutablePointer<CInt>) -> Int { -Int(EINVAL) }
  func signal(_ signal: CInt) -> Int { -Int(EINVAL) }

  // MARK: - Options

  func setOption(_ level: CInt, _ name: CInt, _ value: CInt) -> Int {
    options[[level, name]] = value
    return 0
  }
}
