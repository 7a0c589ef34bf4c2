#if RONDO_TLS
  import CGuests
  import Rondo
  import RondoSockets
  import RondoTLS
  import RondoTesting
  import Synchronization
  import Testing

  /// Secured connections with peers that send what is no data.
  @Suite(.timeLimit(.minutes(5))) struct TLSPeerTests {
    /// How many bytes a request for new keys has, and about how many its answer.
    private static let requestSize = 27

    @Test func `a peer that reads no answer is read no more, until it reads`() throws {
      try withSimulation { simulation in
        let stage = try Flooded(simulation)
        let count = 30_000
        let asked = Mutex(0)
        stage.client.start {
          for _ in 0..<count {
            stage.peer.renewKeys()
            try await stage.connection.write(stage.peer.output())
            asked.withLock { $0 += 1 }
          }
          stage.peer.write("hello")
          try await stage.connection.write(stage.peer.output())
        }
        simulation.run(for: .seconds(60))
        // What waits at the server, and what is on its way in both directions.
        let most = 4 * 65_536 / Self.requestSize
        let before = asked.withLock { $0 }
        #expect(before > 0 && before < most)
        stage.client.start {
          for try await bytes in stage.connection { stage.peer.take(bytes) }
        }
        let isOver = simulation.run(until: { stage.text == "hello" })
        #expect(isOver)
        let after = asked.withLock { $0 }
        #expect(after == count)
      }
    }

    @Test func `records without data let others have their turn`() throws {
      try withSimulation { simulation in
        let stage = try Flooded(simulation)
        let count = 2_000
        let before = stage.server.loop.statistics.jobCallouts
        stage.client.start {
          for _ in 0..<count { stage.peer.renewKeys() }
          stage.peer.write("hello")
          try await stage.connection.write(stage.peer.output())
        }
        let isOver = simulation.run(until: { stage.text == "hello" })
        #expect(isOver)
        let jobs = stage.server.loop.statistics.jobCallouts - before
        #expect(jobs >= count / 200)
      }
    }

    @Test func `a write waits for the rest of a message that has come in part`() throws {
      try withSimulation { simulation in
        let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
        let address = try SocketAddress(parsing: "10.0.0.1:443")
        let context = try Certificates.client()
        let peer = Peer(isServer: true)
        let ends = Mutex<(client: Connection?, server: Connection?)>((nil, nil))
        server.start {
          let listener = try Listener(at: address)
          try await listener.serve(on: server.loop) { connection in
            try await peer.shakeHands(over: connection)
            ends.withLock { $0.server = connection }
            for try await bytes in connection { peer.take(bytes) }
          }
        }
        client.start {
          let plain = try await Connection.connected(to: address, on: client.loop)
          let connection = try await plain.secured(as: "rondo.test", by: context)
          ends.withLock { $0.client = connection }
        }
        let isConnected = simulation.run(until: { ends.withLock { $0.client != nil && $0.server != nil } })
        #expect(isConnected)
        let (near, far) = ends.withLock { ($0.client!, $0.server!) }

        // The first record and a half of a ticket, to a task that reads.
        peer.sendTicket()
        let ticket = peer.output()
        try #require(ticket.count > 1_200)
        let reader = client.start { _ = try await near.read() }
        server.start { try await far.write(ticket[..<800]) }
        simulation.run(for: .seconds(1))
        reader.cancel()
        simulation.run(for: .seconds(1))

        let outcome = Mutex<Result<Void, any Error>?>(nil)
        client.start {
          do {
            try await near.write("hello")
            outcome.withLock { $0 = .success(()) }
          } catch {
            outcome.withLock { $0 = .failure(error) }
          }
        }
        simulation.run(for: .seconds(1))
        let isWaiting = outcome.withLock { $0 == nil }
        #expect(isWaiting)
        server.start { try await far.write(ticket[800...]) }
        let isWritten = simulation.run(until: { peer.text == "hello" })
        #expect(isWritten)
        try outcome.withLock { try $0?.get() }
      }
    }

    @Test func `a deadline ends the wait for a peer that asks and reads nothing, never early`() async throws {
      try await withPlain { loop, near, far in
        let peer = Peer(isServer: false)
        let context = try Certificates.server()
        async let secured = far.secured(by: context)
        try await peer.shakeHands(over: near)
        let server = try await secured
        let flood = Task {
          while true {
            for _ in 0..<100 { peer.renewKeys() }
            try await near.write(peer.output())
          }
        }
        let deadline = loop.clock.now + .milliseconds(300)
        server.deadline = deadline
        let error = await failure { while try await server.read() != nil {} }
        #expect(error == .wait(.timedOut) && loop.clock.now >= deadline)
        server.close()
        _ = await flood.result
      }
    }

    @Test func `a deadline that has passed ends a read that finds no data in what comes`() async throws {
      try await withPlain { loop, near, far in
        let peer = Peer(isServer: false)
        let context = try Certificates.server()
        async let secured = far.secured(by: context)
        try await peer.shakeHands(over: near)
        let server = try await secured
        for _ in 0..<1_000 { peer.renewKeys() }
        peer.write("hello")
        try await near.write(peer.output())
        server.deadline = loop.clock.now - .seconds(1)
        let error = await failure { _ = try await server.read() }
        #expect(error == .wait(.timedOut))
        server.deadline = nil
        let bytes = try await server.read()
        #expect(bytes == Array("hello".utf8))
      }
    }

    @Test func `a server that says goodbye in the handshake is told apart`() async throws {
      try await withPlain { _, near, far in
        // An alert in plain text: close_notify.
        try await far.write([21, 3, 3, 0, 2, 1, 0])
        let error = await failure { _ = try await near.secured(as: "rondo.test", by: Certificates.client()) }
        #expect(error == .tls(.truncated))
      }
    }
  }

  /// A server that is secured, and a client that is an end by OpenSSL itself, after the handshake.
  private final class Flooded: Sendable {
    let server: Host
    let client: Host
    let peer = Peer(isServer: false)
    private let end = Mutex<Connection?>(nil)
    private let heard = Mutex("")

    init(_ simulation: Simulation) throws {
      (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let address = try SocketAddress(parsing: "10.0.0.1:443")
      let context = try Certificates.server()
      server.start { [server, self] in
        let listener = try Listener(at: address)
        try await listener.serve(on: server.loop) { connection in
          let connection = try await connection.secured(by: context)
          for try await bytes in connection { self.heard.withLock { $0 += String(decoding: bytes, as: UTF8.self) } }
        }
      }
      client.start { [client, self] in
        let connection = try await Connection.connected(to: address, on: client.loop)
        try await self.peer.shakeHands(over: connection)
        self.end.withLock { $0 = connection }
      }
      let isConnected = simulation.run(until: { self.end.withLock { $0 != nil } })
      #expect(isConnected)
      // The server's tickets.
      simulation.run(for: .seconds(1))
    }

    /// The client's end, in plain.
    var connection: Connection { end.withLock { $0! } }

    /// What the server has received.
    var text: String { heard.withLock { $0 } }
  }

  /// An end by OpenSSL itself, on bytes that its test moves. *one thread at a time*
  private final class Peer: @unchecked Sendable {
    private let pointer: OpaquePointer
    private(set) var text = ""

    init(isServer: Bool) {
      pointer = guest_peer_new(
        isServer ? 1 : 0, Certificates.path("server.pem"), Certificates.path("server.key"))
    }

    deinit { guest_peer_free(pointer) }

    func shakeHands(over connection: Connection) async throws {
      while true {
        try await connection.write(output())
        if isOpen { break }
        guard let bytes = try await connection.read() else { return }
        take(bytes)
      }
    }

    private(set) var isOpen = false

    func take(_ bytes: [UInt8]) {
      isOpen = guest_peer_take(pointer, bytes, bytes.count) != 0
      guard isOpen else { return }
      var room = [UInt8](repeating: 0, count: 16_384)
      while case let count = guest_peer_read(pointer, &room, room.count), count > 0 {
        text += String(decoding: room[..<count], as: UTF8.self)
      }
    }

    func output() -> [UInt8] {
      var all: [UInt8] = []
      var room = [UInt8](repeating: 0, count: 65_536)
      while case let count = guest_peer_give(pointer, &room, room.count), count > 0 { all += room[..<count] }
      return all
    }

    func write(_ text: String) { guest_peer_write(pointer, Array(text.utf8), text.utf8.count) }

    func renewKeys() { guest_peer_renew_keys(pointer) }

    func sendTicket() { guest_peer_send_ticket(pointer) }
  }
#endif
