internal import CLinux
internal import Glibc
internal import Rondo

/// A simulated stream socket: a listener, or an end of a connection.
final class StreamEndpoint: Endpoint {
  enum Phase {
    case fresh, listening, connecting, connected
    /// Failed, reset, or of a host that has crashed.
    case over
  }

  enum Packet {
    /// A part of the handshake.
    case hello
    case bytes([UInt8])
    /// An urgent byte, which is no part of what is received.
    case urgent
    case end
    case reset

    /// What a trace calls it.
    var name: String {
      switch self {
      case .hello: "a part of a handshake"
      case .bytes(let bytes): "\(bytes.count) bytes"
      case .urgent: "an urgent byte"
      case .end: "the end of a stream"
      case .reset: "a reset"
      }
    }
  }

  /// How many bytes may be on their way, or received and not read.
  static let window = 65_536
  /// How long a connection is attempted, as with net.ipv4.tcp_syn_retries at 6.
  static let patience = Duration.seconds(127)
  /// After how long bytes that do not arrive end a connection, as with net.ipv4.tcp_retries2 at 15.
  static let mostSilence = Duration.milliseconds(924_600)

  var phase = Phase.fresh
  var peer: StreamEndpoint?
  /// What was received: the first `start` bytes have been read.
  var received: [UInt8] = []
  var start = 0
  /// Where in `received` the last urgent byte came: a receive that begins before it stops there.
  var mark: Int?
  var hasReceivedEnd = false
  var hasSentEnd = false
  var readsNoMore = false
  /// What is on its way to the peer.
  var flight: [Packet] = []
  var bytesInFlight = 0
  var lastArrival = Instant.distantPast
  /// How many packets have stopped where the link is cut.
  var stalled = 0
  /// How often the way was free again.
  var passes = 0
  /// Whether it is told of room.
  var isBlocked = false
  var isClosed = false
  var isNewlyConnected = false
  // Of a listener.
  var backlog = 0
  var waiting: [StreamEndpoint] = []
  var handshakes = 0
  /// Where it waits to be accepted, once the handshake is over.
  weak var listener: StreamEndpoint?
  var isChild = false

  override var type: CInt { CInt(SOCK_STREAM.rawValue) }

  var unread: Int { received.count - start }
  var room: Int { peer.map { Self.window - bytesInFlight - $0.unread } ?? 0 }

  override var readiness: Loop.DescriptorSource.Readiness {
    switch phase {
    case .listening: return waiting.isEmpty ? [] : .read
    case .connecting: return []
    case .fresh, .over: return [.read, .write, .closed]
    case .connected:
      var ready: Loop.DescriptorSource.Readiness = []
      if unread > 0 || hasReceivedEnd || readsNoMore || error != 0 { ready.insert(.read) }
      // The kernel does not tell of less than a third.
      if room * 3 >= Self.window || hasSentEnd || error != 0 { ready.insert(.write) }
      if hasReceivedEnd || readsNoMore || error != 0 { ready.insert(.closed) }
      return ready
    }
  }

  override var hasHungUp: Bool {
    phase == .fresh || phase == .over || (hasReceivedEnd || readsNoMore) && hasSentEnd
  }

  // MARK: - Connecting

  override func listen(backlog: Int) -> Int {
    guard phase == .fresh || phase == .listening else { return -Int(EINVAL) }
    if local == .unnamed {
      let result = host.bindToAnyPort(self)
      if result < 0 { return result }
    }
    phase = .listening
    self.backlog = max(1, backlog)
    return 0
  }

  override func accept() -> (Int, NetworkAddress?) {
    guard phase == .listening else { return (-Int(EINVAL), nil) }
    guard let first = waiting.first else { return (-Int(EAGAIN), nil) }
    let descriptor = network.open(first)
    if descriptor < 0 { return (descriptor, nil) }
    waiting.removeFirst()
    network.letGo(first)
    return (descriptor, first.remote)
  }

  override func abortFirst() {
    guard !waiting.isEmpty else { return }
    waiting.removeFirst().reset()
  }

  override func connect(_ address: NetworkAddress) -> Int {
    switch phase {
    case .fresh: break
    case .connecting: return -Int(EALREADY)
    case .connected where isNewlyConnected:
      // The kernel says so once.
      isNewlyConnected = false
      return 0
    case .connected: return -Int(EISCONN)
    default: return -Int(ECONNABORTED)
    }
    switch address {
    case .unnamed: return -Int(EINVAL)
    case .path:
      guard let listener = host.endpoint(at: address, isStream: true) as? StreamEndpoint, listener.phase == .listening
      else { return -Int(address.isAbstract || host.hasPath(address) ? ECONNREFUSED : ENOENT) }
      if listener.isFull { return -Int(EAGAIN) }
      remote = address
      pair(with: listener.makeChild(of: self))
      listener.enqueue(peer!)
      return 0
    case .internet(let ip, _):
      if local == .unnamed {
        let result = host.bindToAnyPort(self, facing: ip)
        if result < 0 { return result }
      }
      remote = address
      phase = .connecting
      knock(until: timeline.now.advanced(by: Self.patience.saturatingNanoseconds), pause: .seconds(1))
      return -Int(EINPROGRESS)
    }
  }

  /// Makes both connected: a pair, or a connection that needs no handshake.
  func pair(with other: StreamEndpoint) {
    (peer, other.peer) = (other, self)
    (phase, other.phase) = (.connected, .connected)
  }

  var isFull: Bool { waiting.count + handshakes >= backlog }

  func makeChild(of client: StreamEndpoint) -> StreamEndpoint {
    let child = StreamEndpoint(on: host, family: family)
    child.local = client.remote ?? local
    child.remote = client.local
    network.keep(child)
    return child
  }

  func enqueue(_ child: StreamEndpoint) {
    waiting.append(child)
    hasChanged()
  }

  func fail(_ error: CInt) {
    guard phase == .connecting || phase == .connected else { return }
    self.error = error
    endAll()
  }

  /// Nothing moves any more.
  func endAll() {
    phase = .over
    flight = []
    bytesInFlight = 0
    endHandshake()
    hasChanged()
    letGo()
  }

  func endHandshake() {
    listener?.handshakes -= 1
    listener = nil
  }

  /// The hosts of both ends; nil if there is no connection.
  var hosts: (Host, Host)? { phase == .connected ? peer.map { (host, $0.host) } : nil }

  // MARK: - Moving bytes

  override func send(_ bytes: UnsafeRawBufferPointer, to address: NetworkAddress?) -> Int {
    if error != 0 { return -Int(takeError()) }
    switch phase {
    case .connecting: return -Int(EAGAIN)
    case .fresh, .listening, .over: return -Int(EPIPE)
    case .connected: break
    }
    // Of a Unix-domain socket the kernel sees the other end.
    if hasSentEnd || family == AF_UNIX && (peer.map { $0.isClosed || $0.readsNoMore } ?? true) { return -Int(EPIPE) }
    if unsafe bytes.isEmpty { return 0 }
    guard room > 0 else {
      isBlocked = true
      return -Int(EAGAIN)
    }
    let count = host.simulation.faults.shorten(min(bytes.count, room), .send, on: host)
    isBlocked = count < bytes.count
    let sent = unsafe [UInt8](bytes.prefix(count))
    guard let peer, peer.host !== host else {
      send(.bytes(sent))
      return count
    }
    for segment in host.link(to: peer.host).segments(sent[...]) { send(.bytes([UInt8](segment))) }
    return count
  }

  /// Of Unix-domain sockets it is not simulated.
  override func sendUrgent() -> Int {
    if error != 0 { return -Int(takeError()) }
    guard phase == .connected, !hasSentEnd else { return -Int(EPIPE) }
    if family == AF_UNIX { return -Int(EOPNOTSUPP) }
    send(.urgent)
    return 1
  }

  override func receive(_ room: UnsafeMutableRawBufferPointer) -> (Int, NetworkAddress?) {
    if unread > 0 {
      let boundary = mark.map { $0 > start ? $0 : received.count } ?? received.count
      let count = host.simulation.faults.shorten(min(room.count, boundary - start), .receive, on: host)
      unsafe room.copyBytes(from: received[start..<start + count])
      start += count
      if let mark, mark < start { self.mark = nil }
      if start == received.count || start > Self.window {
        received.removeFirst(start)
        if let mark { self.mark = mark - start }
        start = 0
      }
      if let peer, peer.isBlocked, peer.room * 3 >= Self.window {
        peer.isBlocked = false
        after(host.link(to: peer.host).latency) { peer.hasChanged() }
      }
      return (count, nil)
    }
    if error != 0 { return (-Int(takeError()), nil) }
    switch phase {
    case .fresh, .listening: return (-Int(ENOTCONN), nil)
    case .connecting: return (-Int(EAGAIN), nil)
    case .over: return (0, nil)
    case .connected: return (hasReceivedEnd || readsNoMore ? 0 : -Int(EAGAIN), nil)
    }
  }

  override func shutDown(reading: Bool, writing: Bool) -> Int {
    guard phase == .connected else { return -Int(ENOTCONN) }
    if reading { readsNoMore = true }
    if writing, !hasSentEnd {
      hasSentEnd = true
      send(.end)
    }
    hasChanged()
    return 0
  }

  override func close() {
    isClosed = true
    switch phase {
    case .listening:
      for child in waiting { child.reset() }
      waiting = []
      phase = .over
    case .connecting:
      // What answers finds nothing.
      phase = .over
    case .connected:
      // A program that ends without having read what came tells so.
      if unread > 0 { reset() } else if !hasSentEnd { send(.end) }
      hasSentEnd = true
    case .fresh, .over: break
    }
    if peer != nil { network.keep(self) }
    letGo()
  }

  /// An end that sends no more needs its peer no longer.
  func letGo() {
    if isClosed || phase == .over, flight.isEmpty { forget() }
  }

  /// Ends the connection, and tells the peer.
  func reset() {
    guard phase == .connected || phase == .connecting else { return }
    flight = []
    bytesInFlight = 0
    send(.reset)
    phase = .over
    isClosed = true
  }

  /// The network ends the connection: both ends are told.
  func breakDown() {
    guard phase == .connected, let peer else { return }
    fail(ECONNRESET)
    peer.fail(ECONNRESET)
  }

  override func vanish() {
    (phase, isClosed) = (.over, true)
    flight = []
    for child in waiting { child.vanish() }
    waiting = []
    forget()
  }

  override func forget() {
    peer = nil
    network.letGo(self)
  }
}

extension NetworkAddress {
  /// Whether it is a name of a Unix-domain socket without a file.
  var isAbstract: Bool {
    if case .path(let name) = self { name.first == 0 } else { false }
  }
}
