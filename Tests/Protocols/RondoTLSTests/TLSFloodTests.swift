import COpenSSLPeer
import Rondo
import RondoSockets
import RondoTLS
import RondoTesting
import Synchronization
import Testing

/// Peers that want work done, or time to be spent.
@Suite(.timeLimit(.minutes(5))) struct TLSFloodTests {
  @Test func `a flood of requests for new keys ends, and others are answered all along`() throws {
    try withSimulation { simulation in
      let stage = try Flooded(simulation)
      let other = simulation.host("10.0.0.3")
      let (context, address) = (try Certificates.client(), try SocketAddress(parsing: "10.0.0.1:444"))
      let answers = Mutex<[Duration]>([])
      let serverContext = try Certificates.server()
      stage.server.start {
        let listener = try Listener(at: address)
        try await listener.serve(on: stage.server.loop) { connection in
          let connection = try await connection.secured(by: serverContext)
          for try await bytes in connection { try await connection.write(bytes) }
        }
      }
      other.start {
        let plain = try await Connection.connected(to: address, on: other.loop)
        let connection = try await plain.secured(as: "rondo.test", by: context)
        for _ in 0..<50 {
          let start = other.loop.clock.now
          try await connection.write("?")
          _ = try await connection.read(exactly: 1)
          answers.withLock { $0.append(other.loop.clock.now - start) }
        }
      }
      stage.client.start {
        for _ in 0..<30_000 { stage.peer.renewKeys() }
        try await stage.connection.write(stage.peer.output())
      }
      let isOver = simulation.run(until: { answers.withLock { $0.count == 50 } && stage.failure != nil })
      #expect(isOver && stage.failure == .tls(.violation("too many key updates")))
      let longest = answers.withLock { $0.max() }
      #expect(longest.map { $0 <= .milliseconds(100) } == true)
    }
  }

  @Test func `another handshake in a session is refused`() throws {
    try withSimulation { simulation in
      let stage = try Flooded(simulation, isOld: true)
      stage.client.start {
        stage.peer.write("before")
        stage.peer.renegotiate()
        try await stage.connection.write(stage.peer.output())
      }
      let isOver = simulation.run(until: { stage.failure != nil })
      #expect(isOver && stage.failure == .tls(.violation("no renegotiation")) && stage.text == "before")
    }
  }

  @Test(arguments: [22, 23] as [UInt8]) func `a flood of empty records ends`(kind: UInt8) async throws {
    try await withPlain { _, near, far in
      let context = try Certificates.server()
      async let server = failure { _ = try await far.secured(by: context) }
      for _ in 0..<1_000 {
        // Until the server closes.
        if await failure({ try await near.write([kind, 3, 3, 0, 0]) }) != nil { break }
      }
      guard case .tls(.violation)? = await server else {
        Issue.record("the records were taken")
        return
      }
    }
  }

  @Test(arguments: 1...50) func `a first message that is damaged ends the handshake`(_ seed: UInt64) async throws {
    var random = Words(state: seed)
    var hello = try await Self.hello(offering: ["h2", "http/1.1"])
    for _ in 0..<Int.random(in: 1...8, using: &random) {
      hello[Int.random(in: hello.indices, using: &random)] = .random(in: .min ... .max, using: &random)
    }
    hello.removeLast(.random(in: 0...100, using: &random))
    let bytes = hello
    try await withPlain { _, near, far in
      let context = try Certificates.server(protocols: ["h3"])
      async let server = failure { _ = try await far.secured(by: context) }
      try await near.write(bytes)
      try await near.finishWriting()
      guard case .tls? = await server else {
        Issue.record("a damaged message was taken")
        return
      }
    }
  }

  @Test(arguments: [(["h2"], true), (["h2", "h3"], false), ([], false)])
  func `protocols are compared however a client cuts its first message`(offered: [String], isRefused: Bool) async throws
  {
    // Records of a hundred bytes, sent in pieces of ten.
    var rest = try await Self.hello(offering: offered).dropFirst(5)
    var records: [UInt8] = []
    while !rest.isEmpty {
      let part = rest.prefix(100)
      records += [22, 3, 1, 0, UInt8(part.count)] + part
      rest = rest.dropFirst(part.count)
    }
    let pieces = records
    try await withPlain { _, near, far in
      let context = try Certificates.server(protocols: ["h3"])
      async let server = failure { _ = try await far.secured(by: context) }
      for start in stride(from: 0, to: pieces.count, by: 10) { try await near.write(pieces[start...].prefix(10)) }
      let answer = try #require(try await near.read(exactly: 7))
      // The refusal is an alert; else it is a part of the handshake.
      #expect(answer == [21, 3, 3, 0, 2, 2, 120] || (!isRefused && answer.first == 22))
      near.close()
      let error = await server
      #expect(isRefused == (error == .tls(.violation("no application protocol"))))
    }
  }

  /// What a client says first.
  private static func hello(offering protocols: [String]) async throws -> [UInt8] {
    try await withLoop { loop in
      let (near, far) = try Connection.pair(on: loop)
      let context = try Certificates.client(protocols: protocols)
      let client = Task { await failure { _ = try await near.secured(as: "rondo.test", by: context) } }
      let header = try #require(try await far.read(exactly: 5))
      let message = try #require(try await far.read(exactly: Int(header[3]) << 8 | Int(header[4])))
      far.close()
      _ = await client.value
      return header + message
    }
  }

  /// SplitMix64.
  private struct Words: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
      state &+= 0x9e37_79b9_7f4a_7c15
      var word = state
      word = (word ^ word >> 30) &* 0xbf58_476d_1ce4_e5b9
      word = (word ^ word >> 27) &* 0x94d0_49bb_1331_11eb
      return word ^ word >> 31
    }
  }

  @Test func `a handshake that comes byte by byte is given up in time`() throws {
    try withSimulation { simulation in
      let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let address = try SocketAddress(parsing: "10.0.0.1:443")
      let context = try Certificates.server()
      let outcome = Mutex<(ConnectionError?, Duration)?>(nil)
      server.start {
        let listener = try Listener(at: address)
        try await listener.serve(on: server.loop) { connection in
          let start = server.loop.clock.now
          let error = await failure { _ = try await connection.secured(by: context, timeout: .seconds(10)) }
          outcome.withLock { $0 = (error, server.loop.clock.now - start) }
        }
      }
      client.start {
        let connection = try await Connection.connected(to: address, on: client.loop)
        for byte in OpenSSLEnd(isServer: false).output() {
          try await connection.write([byte])
          try await Task.sleep(for: .milliseconds(100), clock: client.loop.clock)
        }
      }
      let isOver = simulation.run(until: { outcome.withLock { $0 != nil } })
      #expect(isOver)
      let (error, time) = try #require(outcome.withLock { $0 })
      #expect(error == .wait(.timedOut) && time >= .seconds(10) && time < .seconds(11))
    }
  }

  @Test func `connections that are gone hold nothing`() async {
    await #expect(processExitsWith: .success) {
      try await withLoop { loop in
        let (client, server) = (try Certificates.client(), try Certificates.server())
        func come(_ count: Int) async throws {
          for round in 0..<count {
            let (near, far) = try await secure(Connection.pair(on: loop), client, server)
            try await near.write("hello")
            _ = try await far.read()
            // The peer's end, or none, ends the other one.
            if round % 2 == 0 { try await near.finishWriting() } else { near.close() }
            let end = try await far.read()
            precondition(end == nil)
          }
        }
        try await come(100)
        let before = Int(peer_heap())
        try await come(200)
        // The loop lets go in its next turn.
        while (Int(peer_heap()) - before) / 400 > 1_000 { await Task.yield() }
      }
    }
  }

  @Test func `a connection that waits holds less than 200 kB`() async {
    // The heap of other tests does not count.
    await #expect(processExitsWith: .success) {
      try await withLoop { loop in
        _ = try await secure(Connection.pair(on: loop))
        let (count, data) = (50, pattern(200_000))
        var ends: [Connection] = []
        let before = Int(peer_heap())
        for _ in 0..<count {
          let (client, server) = try await secure(Connection.pair(on: loop))
          async let writing: Void = client.write(data)
          let received = try await server.read(exactly: data.count)
          try await writing
          precondition(received == data)
          ends += [client, server]
        }
        // Each waits in a read.
        let readers = ends.map { end in Task.immediate(executorPreference: loop) { try await end.read() } }
        let most = (Int(peer_heap()) - before) / ends.count
        for reader in readers { reader.cancel() }
        for reader in readers { _ = await reader.result }
        precondition(most > 0 && most < 200_000, "A connection that waits holds \(most) bytes.")
      }
    }
  }
}
