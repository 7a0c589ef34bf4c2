internal import CLinux
internal import Glibc
internal import Rondo

/// A simulated datagram socket.
final class DatagramEndpoint: Endpoint {
  /// How many bytes wait to be received, at most.
  private static let capacity = 212_992

  private var waiting: [(from: NetworkAddress, bytes: [UInt8])] = []
  private var waitingBytes = 0
  /// How many the network has brought for which there was no room.
  private var dropped: UInt32 = 0
  /// The other end of a pair.
  private weak var pair: DatagramEndpoint?
  private var isPaired = false
  private var sendsNoMore = false
  private var readsNoMore = false

  override var type: CInt { CInt(SOCK_DGRAM.rawValue) }

  override var readiness: Loop.DescriptorSource.Readiness {
    if error != 0 { return [.read, .write, .closed] }
    if readsNoMore { return [.read, .write, .closed] }
    return waiting.isEmpty ? .write : [.read, .write]
  }

  override var hasHungUp: Bool { readsNoMore && sendsNoMore }

  func pair(with other: DatagramEndpoint) {
    (pair, other.pair) = (other, self)
    (isPaired, other.isPaired) = (true, true)
  }

  override func connect(_ address: NetworkAddress) -> Int {
    remote = address == .unnamed ? nil : address
    return 0
  }

  override func send(_ bytes: UnsafeRawBufferPointer, to address: NetworkAddress?) -> Int {
    if error != 0 { return -Int(takeError()) }
    if sendsNoMore { return -Int(EPIPE) }
    let bytes = unsafe [UInt8](bytes)
    if isPaired {
      guard let pair, pair.isOpen else { return -Int(ECONNREFUSED) }
      return pair.readsNoMore ? -Int(EPIPE) : pair.take(bytes, from: .unnamed)
    }
    guard let address = address ?? remote else { return -Int(EDESTADDRREQ) }
    guard case .internet(let ip, _) = address else { return sendHere(bytes, to: address) }
    if bytes.count > 65_507 { return -Int(EMSGSIZE) }
    if local == .unnamed {
      let result = host.bindToAnyPort(self, facing: ip)
      if result < 0 { return result }
    }
    guard let target = host.simulation.host(at: ip, seenFrom: host) else { return bytes.count }
    let link = host.link(to: target)
    let from = sender(facing: ip)
    for arrival in link.arrivals(of: bytes.count, from: host, to: target, timeline) {
      timeline.schedule(at: arrival, on: target.address) { [self] in
        if link.isCut || target.isDown || link.loses(bytes.count, to: target, timeline) { return }
        if let found = target.endpoint(at: address, isStream: false) as? DatagramEndpoint {
          if found.take(bytes, from: from) < 0 { found.dropped &+= 1 }
        } else if remote == address {
          refuse(after: link.latency)
        }
      }
    }
    return bytes.count
  }

  /// The answer of a port without a socket, for one that is connected.
  private func refuse(after latency: Duration) {
    timeline.schedule(at: timeline.now.advanced(by: latency.saturatingNanoseconds), on: host.address) { [self] in
      error = ECONNREFUSED
      hasChanged()
    }
  }

  /// The address that the receiver is told.
  private func sender(facing ip: [UInt8]) -> NetworkAddress {
    guard case .internet(let own, let port) = local, NetworkAddress.isWildcard(own) else { return local }
    return .internet(NetworkAddress.isLoopback(ip) ? ip : host.ip, port: port)
  }

  private func sendHere(_ bytes: [UInt8], to address: NetworkAddress) -> Int {
    guard let found = host.endpoint(at: address, isStream: false) as? DatagramEndpoint
    else { return -Int(address.isAbstract || host.hasPath(address) ? ECONNREFUSED : ENOENT) }
    return found.take(bytes, from: local)
  }

  /// - Returns: How many bytes there were, or -EAGAIN without room for them.
  private func take(_ bytes: [UInt8], from address: NetworkAddress) -> Int {
    if let remote, remote != address { return bytes.count }
    // One without bytes takes room, too.
    guard isOpen, waitingBytes + bytes.count < Self.capacity else { return -Int(EAGAIN) }
    waitingBytes += bytes.count + 1
    waiting.append((address, bytes))
    timeline.noteEvent(on: host.address) { "a datagram of \(bytes.count) bytes arrives" }
    hasChanged()
    return bytes.count
  }

  override func receive(_ room: UnsafeMutableRawBufferPointer) -> (Int, NetworkAddress?) {
    if error != 0 { return (-Int(takeError()), nil) }
    guard !waiting.isEmpty else { return (-Int(EAGAIN), nil) }
    let (address, bytes) = waiting.removeFirst()
    waitingBytes -= bytes.count + 1
    unsafe room.copyBytes(from: bytes.prefix(room.count))
    if let pair { pair.hasChanged() }
    return (bytes.count, address)
  }

  override func option(_ level: CInt, _ name: CInt) -> Int {
    level == SOL_SOCKET && name == SO_MEMINFO ? Int(dropped) : super.option(level, name)
  }

  override func shutDown(reading: Bool, writing: Bool) -> Int {
    if remote == nil, !isPaired { return -Int(ENOTCONN) }
    if reading { readsNoMore = true }
    if writing { sendsNoMore = true }
    hasChanged()
    return 0
  }

  override func close() { waiting = [] }
  override func vanish() { waiting = [] }
}
