import Glibc
import Rondo
import RondoSockets
import RondoTestSupport
import RondoTesting
import Testing

/// Connections on the real kernel: made, used, half closed, reset.
@Suite struct ConnectionTests {
  /// Addresses to listen at, one of each family.
  enum Place: CaseIterable, Sendable {
    case ipv4, ipv6, file, abstract

    func address() throws -> SocketAddress {
      switch self {
      case .ipv4: .loopback()
      case .ipv6: .ipv6(.loopback, port: 0)
      case .file: try .file("/tmp/\(uniqueName()).sock")
      case .abstract: try .abstract(uniqueName())
      }
    }
  }

  /// Whether this machine has the IPv6 loopback.
  static let hasIPv6 = (try? Socket.listening(at: .ipv6(.loopback, port: 0))) != nil

  @Test(arguments: Place.allCases.filter { $0 != .ipv6 || hasIPv6 })
  func `a connection carries data both ways and ends half by half`(_ place: Place) throws {
    let address = try place.address()
    let (server, client) = try onLoopThread { stage in
      let listener = try Socket.listening(at: address)
      stage.source("listener", listener, for: .accept) { source, event in
        guard case .accepted(let socket, _) = event else { return }
        source.invalidate()
        stage.source("server", socket, for: .data) { source, event in
          // The client has ended, and is answered all the same.
          guard case .end = event else { return }
          try? source.send([UInt8]("answer"))
          source.invalidate()
        }
      }
      try stage.connecting("client", to: listener.localAddress!) { source, event in
        switch event {
        case .connected:
          try? source.send([UInt8]("question"))
          try? source.finishWriting()
        case .end: source.invalidate()
        default: break
        }
      }
      stage.run { stage.text("client").hasSuffix("end") }
      return (stage.text("server"), stage.text("client"))
    }
    if case .unix(let name) = address, name.place == .file { unsafe unlink(address.description) }
    #expect(server == "received(question) end")
    #expect(client == "connected received(answer) end")
  }

  @Test func `an accepted connection comes with its peer's address`() throws {
    let (told, real) = try onLoopThread { stage in
      var told: SocketAddress?
      let listener = try Socket.listening(at: .loopback())
      let client = try Socket(family: AF_INET, .stream)
      try client.connect(to: listener.localAddress!, timeout: .seconds(60))
      nonisolated(unsafe) let keep = { (address: SocketAddress) in told = address }
      stage.source("listener", listener, for: .accept) { _, event in
        if case .accepted(_, let address) = event { unsafe keep(address) }
      }
      stage.look()
      return (told, client.localAddress)
    }
    #expect(told != nil)
    #expect(told == real)
  }

  @Test func `a connection that the handler drops is closed`() throws {
    let text = try onLoopThread { stage in
      let address = try SocketAddress.abstract(uniqueName())
      stage.source("listener", try Socket.listening(at: address), for: .accept)
      try stage.connecting("client", to: address) { source, event in
        if case .end = event { source.invalidate() }
      }
      stage.run { stage.text("client").hasSuffix("end") }
      return stage.text("client")
    }
    #expect(text == "connected end")
  }

  @Test func `more than the socket takes is kept, sent in order, and told when it has gone`() throws {
    let count = 4_000_000
    let (trace, queued, isWhole) = try onLoopThread { stage in
      let (near, far) = try Socket.pair()
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
      nonisolated(unsafe) var received: [UInt8] = []
      let source = stage.source("near", near, for: [])
      nonisolated(unsafe) var hasEnded = false
      let receiver = SocketSource(far, for: .data) { _, event in
        switch event {
        case .received(let more): unsafe received += more
        case .end: unsafe hasEnded = true
        default: break
        }
      }
      stage.loop.add(receiver)
      try source.send(Array(bytes[..<3_000_000]))
      try source.send(Array(bytes[3_000_000...]))
      let queued = source.queuedByteCount
      try source.finishWriting()
      stage.run { unsafe hasEnded }
      return (stage.text("near"), queued, unsafe received == bytes && source.queuedByteCount == 0)
    }
    #expect(queued > 0 && queued < count)
    #expect(trace == "sent")
    #expect(isWhole)
  }

  @Test func `a peer that resets is told once, and the descriptor is closed`() throws {
    let (text, isValid, isStillOpen) = try onLoopThread { stage in
      let listener = try Socket.listening(at: .loopback())
      var client: Socket? = try Socket(family: AF_INET, .stream)
      try client!.connect(to: listener.localAddress!, timeout: .seconds(60))
      var server: Socket? = try listener.accept()!.socket
      let descriptor = server!.descriptor
      // Another test may be given the number as soon as it is free, but not the socket.
      let socket = inode(of: descriptor)
      let source = stage.source("server", server!, for: .data)
      server = nil
      resetOnClose(client!)
      client = nil
      stage.run { !stage.text("server").isEmpty }
      stage.look(2)
      return (stage.text("server"), source.isValid, inode(of: descriptor) == socket)
    }
    #expect(text == "failed(the peer has gone)")
    #expect(!isValid)
    #expect(!isStillOpen)
  }

  @Test func `sending to a peer that has gone is an error and no signal`() throws {
    try onLoopThread { stage in
      let (near, far) = try Socket.pair()
      let source = stage.source("near", near, for: [])
      _ = consume far
      let isReset = succeedsWithoutCopies {
        do throws(SocketError) {
          try source.send([1])
          return false
        } catch {
          return error == .reset
        }
      }
      #expect(isReset)
    }
  }

  @Test func `a socket says what it carries, its number and its addresses, and a source which socket it has`() throws {
    let listener = try Socket.listening(at: .loopback())
    let address = listener.localAddress!
    #expect("\(listener)" == "stream socket \(listener.descriptor) at \(address)")
    let client = try Socket(family: address.family, .stream)
    try client.connect(to: address, timeout: .seconds(60))
    #expect(
      "\(client)" == "stream socket \(client.descriptor) at \(client.localAddress!), connected to \(address)")
    let source = SocketSource(listener, for: .accept) { _, _ in }
    #expect("\(source)" == "source of \(listener)")
    source.invalidate()
    #expect("\(source)" == "source of a socket, invalid")
  }

  @Test func `an error of the kernel's is told with its number and its meaning`() throws {
    let error = #expect(throws: SocketError.self) {
      try Socket.listening(at: SocketAddress(parsing: "192.0.2.1:7007"))
    }
    #expect(error?.description == "bind failed: errno 99 (Cannot assign requested address)")
  }

  @Test func `nobody there is told as a failed connection`() throws {
    let (text, isValid) = try onLoopThread { stage in
      // Bound, and nobody listens.
      let free = try Socket(family: AF_INET, .stream)
      try free.bind(to: .loopback())
      let address = free.localAddress!
      defer { _ = free }
      // Some kernels answer at once, others later.
      do {
        let source = try stage.connecting("client", to: address)
        stage.run { !stage.text("client").isEmpty }
        return (stage.text("client"), source.isValid)
      } catch SocketError.refused(let refused) {
        return ("connectFailed(\(SocketError.refused(refused)))", false)
      }
    }
    #expect(text.hasPrefix("connectFailed(nobody listens at 127.0.0.1:"))
    #expect(!isValid)
  }

  @Test func `a Unix-domain name nobody has is refused at once`() throws {
    let name = uniqueName()
    #expect(throws: SocketError.refused(try .abstract(name))) {
      try SocketSource(connectingTo: try .abstract(name), for: .data) { _, _ in }
    }
    #expect(throws: SocketError.notFound) {
      try SocketSource(connectingTo: try .file("/tmp/\(name)"), for: .data) { _, _ in }
    }
  }

  @Test func `an address in use is refused`() throws {
    let address = try SocketAddress.abstract(uniqueName())
    let listener = try Socket.listening(at: address)
    let error = #expect(throws: SocketError.addressInUse(address)) { try Socket.listening(at: address) }
    #expect(error?.description == "the address \(address) is in use")
    _ = listener
  }

  @Test func `what is sent before the connection is there follows it`() throws {
    let text = try onLoopThread { stage in
      let listener = try Socket.listening(at: .loopback())
      let source = try stage.connecting("client", to: listener.localAddress!)
      try source.send([UInt8]("early"))
      try source.finishWriting()
      stage.source("listener", listener, for: .accept) { _, event in
        if case .accepted(let socket, _) = event { stage.source("server", socket, for: .data) }
      }
      stage.run { stage.text("server").hasSuffix("end") }
      return stage.text("server")
    }
    #expect(text == "received(early) end")
  }

  @Test func `a connection that takes too long fails, and never before its time`() throws {
    let (text, elapsed) = try onLoopThread { stage in
      // A listener whose queue is full drops what knocks.
      let listener = try Socket.listening(at: .loopback(), backlog: 0)
      var waiting: [Socket] = []
      for _ in 0..<4 {
        let socket = try Socket(family: AF_INET, .stream)
        _ = try socket.connect(to: listener.localAddress!)
        waiting.append(socket)
      }
      let start = SuspendingClock.now
      try stage.connecting("client", to: listener.localAddress!, timeout: .milliseconds(30))
      stage.run { !stage.text("client").isEmpty }
      return withExtendedLifetime(waiting) { (stage.text("client"), SuspendingClock.now - start) }
    }
    #expect(text == "connectFailed(the time given is over)")
    #expect(elapsed >= .milliseconds(30))
  }

  @Test func `datagrams come whole, with their sender, and empty ones too`() throws {
    let (text, sender, expected) = try onLoopThread { stage in
      let receiver = try Socket.datagram(at: .loopback())
      let other = try Socket.datagram(at: .loopback())
      nonisolated(unsafe) var sender: SocketAddress?
      stage.source("receiver", receiver, for: .data) { _, event in
        if case .datagram(let datagram) = event { unsafe sender = datagram.sender }
      }
      for text in ["one", "", "three"] {
        _ = try other.send([UInt8](text)[...], to: receiver.localAddress!)
      }
      stage.run { stage.text("receiver").hasSuffix("(three)") }
      return (stage.text("receiver"), unsafe sender, other.localAddress)
    }
    #expect(text == "received(one) received() received(three)")
    #expect(sender == expected && sender != nil)
  }

  @Test func `the peer of a Unix-domain connection is known by its process and user`() throws {
    let (near, far) = try Socket.pair()
    #expect(near.peerCredentials == PeerCredentials(process: getpid(), user: geteuid(), group: getegid()))
    #expect(try Socket(family: AF_INET, .stream).peerCredentials == nil)
    _ = far
  }

  @Test func `a send that blocks gives up when its time is over, and never before`() throws {
    let (near, far) = try Socket.pair()
    let start = SuspendingClock.now
    #expect(throws: SocketError.timedOut) {
      try blockingSend(near, [UInt8](repeating: 0, count: 4_000_000), .milliseconds(30))
    }
    #expect(SuspendingClock.now - start >= .milliseconds(30))
    _ = far
  }

  @Test func `a report calls a source and its timer by where its user made it`() throws {
    try onLoopThread { stage in
      let (near, far) = try Socket.pair()
      let first = #line
      let source = SocketSource(near, for: .data) { _, _ in }
      let connecting = try SocketSource(connectingTo: .loopback(port: 9), timeout: .seconds(1), for: .data) { _, _ in }
      for each in [source, connecting] { stage.loop.add(each) }
      let names = Set(stage.loop.inventory.items.compactMap(\.label.text))
      #expect(names.isSubset(of: (1...2).map { "\(#fileID):\(first + $0)" }))
      #expect(names.contains("\(#fileID):\(first + 1)"))
      for each in [source, connecting] { each.invalidate() }
      _ = far
    }
  }

  private func blockingSend(_ socket: Socket, _ bytes: [UInt8], _ timeout: Duration) throws {
    try socket.send(bytes, timeout: timeout)
  }
}
