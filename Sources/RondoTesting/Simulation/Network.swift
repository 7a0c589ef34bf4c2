internal import CLinux
internal import Glibc
internal import Rondo

/// The simulated machines' part in system calls: descriptors, and what each call's words mean.
final class Network: SimulatedMachine, @unchecked Sendable {
  // Unchecked: all of it belongs to the thread of the simulation, and a call from another one ends the program.

  private unowned let simulation: Simulation
  private var first: CInt = 0
  /// The distance of the descriptor that is given out first.
  private var start = 0
  /// By their descriptors' distance from that one.
  @safe @exclusivity(unchecked) private var endpoints: [Endpoint?] = []
  private var free: [CInt] = []
  private var lastSerial: UInt64 = 0
  /// Those without a descriptor that something is on its way to, or from, by their numbers.
  private var orphans: [UInt64: StreamEndpoint] = [:]
  /// *its own lock* Closed on other threads, by tasks that were released there.
  private let closedElsewhere = Guarded<[CInt]>([])

  init(_ simulation: Simulation) {
    self.simulation = simulation
    let isAdded = SimulatedMachines.add(self) { (first, start) = ($0, $1) }
    require(isAdded, "There are 128 simulations already. End one of them first.")
  }

  func close() {
    SimulatedMachines.remove(first: first, used: start + endpoints.count)
    for endpoint in endpoints { endpoint?.forget() }
    for orphan in Array(orphans.values) { orphan.forget() }
    endpoints = []
  }

  func keep(_ orphan: StreamEndpoint) { orphans[orphan.serial] = orphan }
  func letGo(_ orphan: StreamEndpoint) { orphans[orphan.serial] = nil }

  func nextSerial() -> UInt64 {
    lastSerial += 1
    return lastSerial
  }

  /// The stream sockets that are open.
  var streams: [StreamEndpoint] { endpoints.compactMap { $0 as? StreamEndpoint } }

  /// The process of a host has ended: what it has open is closed, and peers are told unless the host `hasCrashed`.
  ///
  /// The descriptors are not given out again before their owners, which are there still, close them.
  func endProcess(of host: Host, hasCrashed: Bool) {
    for case .some(let endpoint) in endpoints where endpoint.host === host && !endpoint.isAbandoned {
      host.unbind(endpoint)
      if hasCrashed { endpoint.vanish() } else { endpoint.close() }
      endpoint.isAbandoned = true
    }
    host.openDescriptorCount = 0
  }

  func endpoint(_ descriptor: CInt) -> Endpoint? {
    guard descriptor >= first else { return nil }
    let place = place(of: descriptor)
    return place < endpoints.count ? endpoints[place] : nil
  }

  private func place(of descriptor: CInt) -> Int {
    let most = SimulatedMachines.mostDescriptors
    return (Int(descriptor - first) - start + most) % most
  }

  /// Gives an endpoint a descriptor.
  ///
  /// - Returns: The descriptor, or minus errno.
  func open(_ endpoint: Endpoint) -> Int {
    if let limit = endpoint.host.descriptorLimit, endpoint.host.openDescriptorCount >= limit { return -Int(EMFILE) }
    if free.isEmpty {
      guard endpoints.count < SimulatedMachines.mostDescriptors / 2 else { return -Int(ENFILE) }
      endpoint.descriptor = first + CInt((start + endpoints.count) % SimulatedMachines.mostDescriptors)
      endpoints.append(endpoint)
    } else {
      endpoint.descriptor = free.removeLast()
      endpoints[place(of: endpoint.descriptor)] = endpoint
    }
    endpoint.host.openDescriptorCount += 1
    return Int(endpoint.descriptor)
  }

  private func close(_ descriptor: CInt) -> Int {
    guard let endpoint = endpoint(descriptor) else { return -Int(EBADF) }
    endpoints[place(of: descriptor)] = nil
    free.append(descriptor)
    endpoint.descriptor = -1
    if endpoint.isAbandoned { return 0 }
    endpoint.host.openDescriptorCount -= 1
    endpoint.host.unbind(endpoint)
    endpoint.close()
    return 0
  }

  /// Closes what other threads have closed.
  func closeLate() {
    for descriptor in closedElsewhere.withLock({ closed in
      defer { closed = [] }
      return closed
    }) { _ = close(descriptor) }
  }

  // MARK: - Calls without a descriptor

  func call(_ call: rondo_call, on host: Host, _ first: Int, _ second: Int) -> Int {
    closeLate()
    switch call {
    case RONDO_SIGNAL: return open(SignalEndpoint(of: CInt(first), on: host))
    case RONDO_CLOCK: return open(ClockEndpoint(isReal: first == 0, on: host))
    case RONDO_CLOCK_NOW: return Int(first == 0 ? host.realTimeNanoseconds : timeline.now.nanoseconds)
    case RONDO_SPAWN: return unsafe host.spawn(first, second)
    case RONDO_CHILD:
      guard let child = host.child(CInt(first)) else { return -Int(ESRCH) }
      return open(ChildEndpoint(of: child, on: host))
    default: return make(call, on: host, first, second)
    }
  }

  private var timeline: Timeline { simulation.timeline }

  private func make(_ call: rondo_call, on host: Host, _ first: Int, _ second: Int) -> Int {
    let fault = simulation.faults.strike(.socket, on: host)
    if fault != 0 { return -Int(fault) }
    if call == RONDO_SOCKET {
      let isKnown = [AF_INET, AF_INET6, AF_UNIX].contains(CInt(first))
      guard isKnown else { return -Int(EAFNOSUPPORT) }
      let isStream = second == Int(SOCK_STREAM.rawValue)
      return open(
        isStream ? StreamEndpoint(on: host, family: CInt(first)) : DatagramEndpoint(on: host, family: CInt(first)))
    }
    let ends: (Endpoint, Endpoint)
    if first == Int(SOCK_STREAM.rawValue) {
      let pair = (StreamEndpoint(on: host, family: AF_UNIX), StreamEndpoint(on: host, family: AF_UNIX))
      pair.0.pair(with: pair.1)
      ends = pair
    } else {
      let pair = (DatagramEndpoint(on: host, family: AF_UNIX), DatagramEndpoint(on: host, family: AF_UNIX))
      pair.0.pair(with: pair.1)
      ends = pair
    }
    let numbers = (open(ends.0), open(ends.1))
    guard numbers.0 >= 0, numbers.1 >= 0 else {
      for number in [numbers.0, numbers.1] where number >= 0 { _ = close(CInt(number)) }
      return -Int(EMFILE)
    }
    let place = unsafe UnsafeMutablePointer<CInt>(bitPattern: second)!
    unsafe place[0] = CInt(numbers.0)
    unsafe place[1] = CInt(numbers.1)
    return 0
  }

  // MARK: - Calls on descriptors

  func answer(
    _ call: rondo_call, _ descriptor: CInt, _ first: Int, _ second: Int, _ third: Int, _ fourth: Int
  ) -> Int {
    // A task may outlive its simulation, and another one have the range by now.
    guard place(of: descriptor) < SimulatedMachines.mostDescriptors / 2 else { return -Int(EBADF) }
    guard simulation.takesTurn() else {
      if call == RONDO_CLOSE {
        closedElsewhere.withLock { $0.append(descriptor) }
        return 0
      }
      require(false, "A simulated socket belongs to the thread of its simulation. Start tasks with `host.start`.")
      return -Int(EBADF)
    }
    if call == RONDO_CLOSE { return close(descriptor) }
    guard let endpoint = endpoint(descriptor), !endpoint.isAbandoned else { return -Int(EBADF) }
    if let fault = Faults.Call(call) {
      var errno = simulation.faults.strike(fault, on: endpoint.host)
      // A signal's handler has run: the call is made again, as Rondo makes it.
      while errno == EINTR { errno = simulation.faults.strike(fault, on: endpoint.host) }
      if errno == ECONNABORTED, call == RONDO_ACCEPT { endpoint.abortFirst() }
      if errno != 0 { return -Int(errno) }
    }
    switch call {
    case RONDO_BIND:
      guard let address = unsafe Self.address(first, second) else { return -Int(EAFNOSUPPORT) }
      return endpoint.bind(address)
    case RONDO_LISTEN: return endpoint.listen(backlog: first)
    case RONDO_CONNECT:
      guard let address = unsafe Self.address(first, second) else { return -Int(EAFNOSUPPORT) }
      return endpoint.connect(address)
    case RONDO_ACCEPT:
      let (result, peer) = endpoint.accept()
      if let peer { unsafe peer.write(to: first, length: second) }
      return result
    case RONDO_SEND:
      let bytes = unsafe UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: first), count: second)
      return unsafe endpoint.send(bytes, to: third == 0 ? nil : Self.address(third, fourth))
    case RONDO_SEND_PIECES:
      return unsafe Self.gather(first, second).withUnsafeBytes { unsafe endpoint.send($0, to: nil) }
    case RONDO_RECEIVE, RONDO_RECEIVE_DATAGRAM:
      let room = unsafe UnsafeMutableRawBufferPointer(start: UnsafeMutableRawPointer(bitPattern: first), count: second)
      let (result, from) = unsafe endpoint.receive(room)
      if result >= 0 { unsafe (from ?? .unnamed).write(to: third, length: fourth) }
      return call == RONDO_RECEIVE ? min(result, second) : result
    case RONDO_SEND_FILE: return unsafe sendFile(endpoint, first, second, third)
    case RONDO_SEND_URGENT: return endpoint.sendUrgent()
    case RONDO_SHUTDOWN:
      return endpoint.shutDown(reading: first != Int(SHUT_WR), writing: first != Int(SHUT_RD))
    case RONDO_NAME:
      unsafe endpoint.nameToTell.write(to: first, length: second)
      return 0
    case RONDO_PEER_NAME:
      guard let remote = endpoint.remote else { return -Int(ENOTCONN) }
      unsafe remote.write(to: first, length: second)
      return 0
    case RONDO_OPTION: return endpoint.option(CInt(first), CInt(second))
    case RONDO_SET_OPTION: return endpoint.setOption(CInt(first), CInt(second), CInt(third))
    case RONDO_CREDENTIALS:
      let place = unsafe UnsafeMutablePointer<rondo_credentials>(bitPattern: first)!
      unsafe place.pointee = rondo_credentials(process: getpid(), user: getuid(), group: getgid())
      return 0
    case RONDO_POLL: return poll(endpoint, first, milliseconds: second)
    case RONDO_STATUS:
      let place = unsafe UnsafeMutablePointer<rondo_identity>(bitPattern: first)!
      unsafe place.pointee = rondo_identity(device: UInt64(self.first), inode: endpoint.serial, type: S_IFSOCK)
      return 0
    case RONDO_CLOCK_ARM: return endpoint.arm(Int64(first))
    case RONDO_CHILD_LOOK:
      return unsafe endpoint.look(reaps: first != 0, UnsafeMutablePointer<CInt>(bitPattern: second)!)
    case RONDO_CHILD_SIGNAL: return endpoint.signal(CInt(first))
    default: return -Int(ENOSYS)
    }
  }

  private func poll(_ endpoint: Endpoint, _ events: Int, milliseconds: Int) -> Int {
    if milliseconds == 0 { return endpoint.poll(events) == 0 ? 0 : 1 }
    let end =
      milliseconds < 0
      ? .distantFuture : simulation.timeline.now.advanced(by: Int64(milliseconds) * 1_000_000)
    simulation.wait(until: end) { endpoint.poll(events) != 0 }
    return endpoint.poll(events) == 0 ? 0 : 1
  }

  @unsafe private static func address(_ place: Int, _ length: Int) -> NetworkAddress? {
    unsafe NetworkAddress(UnsafeRawPointer(bitPattern: place), length)
  }

  /// The pieces of sendmsg(2) as one.
  @unsafe private static func gather(_ place: Int, _ count: Int) -> [UInt8] {
    let pieces = unsafe UnsafeBufferPointer(start: UnsafePointer<iovec>(bitPattern: place), count: count)
    return unsafe pieces.reduce(into: []) { all, piece in
      unsafe all += UnsafeRawBufferPointer(start: piece.iov_base, count: piece.iov_len)
    }
  }

  /// Sends a part of a real file.
  @unsafe private func sendFile(_ endpoint: Endpoint, _ file: Int, _ offset: Int, _ count: Int) -> Int {
    let place = unsafe UnsafeMutablePointer<off_t>(bitPattern: offset)!
    var bytes = [UInt8](repeating: 0, count: min(count, 65_536))
    let found = unsafe pread(CInt(file), &bytes, bytes.count, place.pointee)
    if found <= 0 { return found < 0 ? -Int(errno) : 0 }
    let sent = unsafe bytes[..<found].withUnsafeBytes { unsafe endpoint.send($0, to: nil) }
    if sent > 0 { unsafe place.pointee += off_t(sent) }
    return sent
  }
}

extension Faults.Call {
  /// The call that a system call counts as; nil for one that does not fail.
  init?(_ call: rondo_call) {
    switch call {
    case RONDO_BIND, RONDO_LISTEN: self = .bind
    case RONDO_CONNECT: self = .connect
    case RONDO_ACCEPT: self = .accept
    case RONDO_SEND, RONDO_SEND_PIECES, RONDO_SEND_FILE, RONDO_SEND_URGENT: self = .send
    case RONDO_RECEIVE, RONDO_RECEIVE_DATAGRAM: self = .receive
    default: return nil
    }
  }
}
