internal import Glibc
internal import Rondo

/// What is between two stream sockets: the handshake, packets on their way, and where they stop.
extension StreamEndpoint {
  /// Sends the first packet of a connection, which is lost while there is no way.
  func knock(until end: Instant, pause: Duration) {
    guard case .internet(let ip, _)? = remote, let target = host.simulation.host(at: ip, seenFrom: host) else {
      return after(.seconds(3)) { [self] in fail(EHOSTUNREACH) }
    }
    let link = host.link(to: target)
    after(link.latency) { [self] in
      guard phase == .connecting else { return }
      let found = target.endpoint(at: remote!, isStream: true) as? StreamEndpoint
      let isLost = link.isCut || target.isDown || found.map { $0.phase == .listening && $0.isFull } ?? false
      if isLost {
        if timeline.now >= end { return fail(ETIMEDOUT) }
        let left = Duration.nanoseconds(end.nanoseconds - timeline.now.nanoseconds)
        return after(min(pause, left)) { [self] in knock(until: end, pause: pause * 2) }
      }
      guard let found, found.phase == .listening else { return after(link.latency) { [self] in fail(ECONNREFUSED) } }
      let child = found.makeChild(of: self)
      child.listener = found
      child.isChild = true
      child.peer = self
      child.phase = .connecting
      found.handshakes += 1
      peer = child
      child.send(.hello)
    }
  }

  // MARK: - On the way

  func after(_ delay: Duration, _ action: @escaping () -> Void) {
    timeline.schedule(at: timeline.now.advanced(by: delay.saturatingNanoseconds), on: host.address, action)
  }

  func send(_ packet: Packet) {
    guard let peer else { return }
    let link = host.link(to: peer.host)
    var count = 0
    if case .bytes(let bytes) = packet { count = bytes.count }
    bytesInFlight += count
    flight.append(packet)
    // On one host, the kernel moves bytes in the call.
    if peer.host === host, stalled == 0, flight.count == 1 { return arriveNext() }
    lastArrival = max(lastArrival, link.arrival(of: count, from: host, at: timeline.now))
    timeline.schedule(at: lastArrival, on: peer.host.address) { [self] in arriveNext() }
  }

  /// The first packet on its way arrives, or stops.
  func arriveNext() {
    guard let first = flight.first, let peer else { return }
    let link = host.link(to: peer.host)
    if link.isCut || peer.host.isDown {
      if stalled == 0 { stop(at: link) }
      stalled += 1
      return
    }
    if case .bytes(let bytes) = first, host.simulation.faults.breaksConnection(to: peer.host) {
      // Some of the bytes have gone through.
      let passed = timeline.choose(among: bytes.count + 1, on: peer.host.address) {
        "\($0) bytes of it had come before"
      }
      peer.arrive(.bytes(Array(bytes.prefix(passed))), from: self)
      return breakDown()
    }
    flight.removeFirst()
    if case .bytes(let bytes) = first { bytesInFlight -= bytes.count }
    peer.arrive(first, from: self)
    letGo()
  }

  func stop(at link: Link) {
    link.stop(self)
    let passes = passes
    after(Self.mostSilence) { [self] in
      if stalled > 0, self.passes == passes { fail(ETIMEDOUT) }
    }
  }

  /// The way is free again: what has stopped arrives.
  func goOn() {
    let count = stalled
    stalled = 0
    passes += 1
    guard let peer else { return }
    for _ in 0..<count { after(host.link(to: peer.host).latency) { [self] in arriveNext() } }
  }

  func arrive(_ packet: Packet, from sender: StreamEndpoint) {
    timeline.noteEvent(on: host.address) { "\(packet.name) from \(sender.host.address)" }
    switch (packet, phase) {
    case (.reset, .connected), (.reset, .connecting):
      fail(phase == .connecting ? ECONNREFUSED : hasReceivedEnd ? EPIPE : ECONNRESET)
    case (.hello, .connecting):
      phase = .connected
      guard isChild else {
        // The other end is connected when this one arrives.
        isNewlyConnected = true
        send(.hello)
        return hasChanged()
      }
      let listener = listener
      endHandshake()
      if let listener, listener.phase == .listening { listener.enqueue(self) } else { reset() }
    case (.bytes(let bytes), .connected) where !isClosed:
      received += bytes
      hasChanged()
    case (.urgent, .connected) where !isClosed:
      mark = received.count
      hasChanged()
    case (.end, .connected):
      hasReceivedEnd = true
      hasChanged()
    case (.hello, _), (.bytes, _), (.urgent, _):
      // Nothing is here any more.
      after(host.link(to: sender.host).latency) { [self] in sender.arrive(.reset, from: self) }
    case (.reset, _), (.end, _): break
    }
  }
}
