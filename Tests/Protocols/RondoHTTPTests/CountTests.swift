import HTTPTypes
import Rondo
import RondoHTTP
import RondoSockets
import RondoTesting
import Testing

/// Each limit once: what the client sees of it, and what the operator reads of it.
@Suite struct CountTests {
  private static let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
  private static let chunkedPost = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
  private static let answerless: Handler = { _, response in try await response.send(HTTPResponse(status: .ok)) }

  private static func post(_ length: Int) -> String {
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(length)\r\n\r\n"
  }

  /// What became of a client, and the server's counts after ten minutes.
  private struct Outcome: Equatable {
    /// Of each response, then how the connection ended.
    let client: String
    let second: Int
    let counts: String
  }

  /// Has a client send pieces a second apart, and read until the end.
  private static func outcome(
    _ port: Int, _ limits: ServerLimits = ServerLimits(), of pieces: [String], _ handler: @escaping Handler = echo
  ) -> Outcome {
    withSimulation { simulation in
      let scene = Scene(simulation, limits: limits, port: port, handler)
      let seconds = Trace()
      scene.connect { client in
        client.trace.note(await Self.end(of: client, sending: pieces))
        seconds.note("\(simulation.elapsed.components.seconds)")
      }
      simulation.run(for: .seconds(600))
      return Outcome(
        client: scene.trace.tokens.joined(), second: seconds.tokens.first.flatMap { Int($0) } ?? -1,
        counts: scene.counts)
    }
  }

  /// The statuses that a client gets and how its connection ends.
  private static func end(of client: Client, sending pieces: [String]) async -> String {
    let loop = client.connection.loop
    // A server that has answered may have closed before the client has sent all.
    let writing = Task(executorPreference: loop) {
      for piece in pieces {
        try await client.send(piece)
        try await loop.clock.sleep(for: .seconds(1))
      }
    }
    defer { writing.cancel() }
    var text = ""
    do {
      while let bytes = try await client.connection.read() { text += String(decoding: bytes, as: UTF8.self) }
    } catch { return "\(error)" }
    let heads = text.components(separated: "HTTP/1.1 ").dropFirst()
    return (heads.map { $0.prefix(3) + ($0.contains("connection: close") ? " close" : "") } + ["end"])
      .joined(separator: ", ")
  }

  private static func letters(_ text: String) -> [String] { text.map { "\($0)" } }

  // MARK: - Time

  @Test func `a head that comes a byte at a time`() {
    let head = "GET / HTTP/1.1\r\nX-Long: " + String(repeating: "l", count: 100)
    #expect(
      Self.outcome(1_001, of: Self.letters(head))
        == Outcome(client: "408 close, end", second: 10, counts: "accepted=1 limit:headTime=1"))
  }

  @Test func `a body that comes a byte at a time`() {
    #expect(
      Self.outcome(1_002, of: [Self.post(1_000)] + [String](repeating: "b", count: 100))
        == Outcome(client: "408 close, end", second: 60, counts: "accepted=1 requests=1 limit:bodyTime=1"))
  }

  @Test func `a body in chunks of one byte, a second apart`() {
    #expect(
      Self.outcome(1_003, of: [Self.chunkedPost] + [String](repeating: "1\r\nb\r\n", count: 100))
        == Outcome(client: "408 close, end", second: 60, counts: "accepted=1 requests=1 limit:bodyTime=1"))
  }

  @Test func `a client that says nothing`() {
    #expect(Self.outcome(1_004, of: []) == Outcome(client: "end", second: 60, counts: "accepted=1 limit:idle=1"))
  }

  @Test func `a client that says nothing, of a server that limits the wait for the first byte`() {
    let limits = ServerLimits(firstByte: .seconds(5))
    #expect(
      Self.outcome(1_005, limits, of: [])
        == Outcome(client: "end", second: 5, counts: "accepted=1 limit:firstByte=1"))
  }

  @Test func `a client that stops within a head, sooner than the head's time ends`() {
    let limits = ServerLimits(idle: .seconds(5))
    #expect(
      Self.outcome(1_006, limits, of: ["GET"])
        == Outcome(client: "408 close, end", second: 5, counts: "accepted=1 limit:idle=1"))
  }

  // The kernel tells of room once a third of its buffer is free: single bytes are no progress.
  @Test(arguments: [(1_007, false), (1_008, true)])
  func `a client that never reads its response, or a byte of it a second`(port: Int, reads: Bool) {
    withSimulation { simulation in
      let scene = Scene(simulation, port: port) { _, response in
        try await response.send(HTTPResponse(status: .ok), body: [UInt8](repeating: 0, count: 10_000_000))
      }
      scene.connect { client in
        try await client.send(Self.get)
        for _ in 0..<600 {
          try await client.connection.loop.clock.sleep(for: .seconds(1))
          if reads { _ = try await client.connection.read(upTo: 1) }
        }
      }
      simulation.run(for: .seconds(59))
      #expect(scene.counts == "connections=1 accepted=1 requests=1")
      simulation.run(for: .seconds(3))
      #expect(scene.counts == "accepted=1 requests=1 limit:idle=1")
      // It is the client's doing, and no error of the server.
      #expect(scene.errors.tokens == [] && scene.server.openDescriptorCount == 1)
    }
  }

  // MARK: - Bytes

  @Test func `a head that is too long, in its fields or its first line`() {
    let limits = ServerLimits(headBytes: 100)
    let fields = "GET / HTTP/1.1\r\nHost: a\r\nX-Long: " + String(repeating: "f", count: 100)
    let line = "GET /" + String(repeating: "t", count: 100)
    #expect(
      Self.outcome(1_011, limits, of: [fields])
        == Outcome(client: "431 close, end", second: 0, counts: "accepted=1 limit:headBytes=1"))
    #expect(
      Self.outcome(1_012, limits, of: [line])
        == Outcome(client: "414 close, end", second: 0, counts: "accepted=1 limit:headBytes=1"))
  }

  @Test func `extensions of chunks and trailers that are too long`() {
    let limits = ServerLimits(headBytes: 100)
    let expected = Outcome(client: "431 close, end", second: 0, counts: "accepted=1 requests=1 limit:headBytes=1")
    let long = String(repeating: "e", count: 200)
    #expect(Self.outcome(1_013, limits, of: [Self.chunkedPost + "1;" + long]) == expected)
    #expect(Self.outcome(1_014, limits, of: [Self.chunkedPost + "0\r\nX-T: " + long + "\r\n\r\n"]) == expected)
  }

  @Test func `a body that is too long, by its length`() {
    #expect(
      Self.outcome(1_015, ServerLimits(bodyBytes: 10), of: [Self.post(11)])
        == Outcome(client: "413 close, end", second: 0, counts: "accepted=1 requests=1 limit:bodyBytes=1"))
  }

  @Test func `a body that is too long, in chunks of one byte`() {
    #expect(
      Self.outcome(
        1_016, ServerLimits(bodyBytes: 10), of: [Self.chunkedPost + String(repeating: "1\r\nb\r\n", count: 1_000)])
        == Outcome(client: "413 close, end", second: 0, counts: "accepted=1 requests=1 limit:bodyBytes=1"))
  }

  @Test func `a body that is too long counts once, how often the handler reads it`() {
    let limits = ServerLimits(bodyBytes: 10)
    let outcome = Self.outcome(1_017, limits, of: [Self.post(11) + "01234567890"]) { request, response in
      for _ in 0..<3 { _ = try? await request.body.collect() }
      try await response.send("no")
    }
    #expect(outcome.counts == "accepted=1 requests=1 limit:idle=1 limit:bodyBytes=1")
  }

  @Test func `a body that no handler reads and that is too long to pass over`() {
    let body = String(repeating: "b", count: 101)
    #expect(
      Self.outcome(1_018, ServerLimits(unreadBytes: 100), of: [Self.post(101) + body + Self.get], Self.answerless)
        == Outcome(client: "200, end", second: 0, counts: "accepted=1 requests=1 limit:unreadBytes=1"))
  }

  // MARK: - Requests and connections

  @Test func `a connection with the most requests`() {
    #expect(
      Self.outcome(1_021, ServerLimits(requests: 2), of: [Self.get, Self.get, Self.get])
        == Outcome(client: "200, 200 close, end", second: 1, counts: "accepted=1 requests=2 limit:requests=1"))
  }

  @Test func `more requests at once than a connection may have`() {
    #expect(
      Self.outcome(1_022, ServerLimits(requests: 2), of: [Self.get + Self.get + Self.get])
        == Outcome(client: "200, 200 close, end", second: 0, counts: "accepted=1 requests=2 limit:requests=1"))
  }

  @Test func `more clients than there may be at a time wait, and are served`() {
    withSimulation { simulation in
      let scene = Scene(simulation, limits: ServerLimits(connections: 1), port: 1_023, echo)
      for _ in 0..<2 {
        scene.connect { client in
          try await client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
          client.trace.note(await Self.end(of: client, sending: []))
        }
      }
      simulation.run(for: .seconds(100))
      #expect(scene.trace.tokens == ["200 close, end", "200 close, end"])
      #expect(scene.counts == "accepted=2 requests=2 limit:connections=2")
    }
  }

  @Test func `more clients of one address than there may be are closed at once`() {
    withSimulation { simulation in
      let scene = Scene(simulation, limits: ServerLimits(connectionsPerAddress: 1), port: 1_024, echo)
      for _ in 0..<3 {
        scene.connect { client in
          client.trace.note(await Self.end(of: client, sending: []))
          client.trace.note("\(simulation.elapsed.components.seconds)")
        }
      }
      simulation.run(for: .seconds(10))
      #expect(scene.trace.tokens == ["end", "0", "end", "0"])
      #expect(scene.counts == "connections=1 accepted=1 limit:connectionsPerAddress=2")
    }
  }

  @Test func `a connection that no server has accepted has the default limits`() {
    withSimulation { simulation in
      let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let (serverLoop, clientLoop, trace) = (server.loop, client.loop, Trace())
      server.start {
        for try await connection in try Listener(at: Scene.address).connections(on: serverLoop) {
          try await HTTPServer(handler: echo).serve(connection)
        }
      }
      client.start {
        let client = Client(connection: try await .connected(to: Scene.address, on: clientLoop), trace: trace)
        trace.note(await Self.end(of: client, sending: ["GET"]))
        trace.note("\(simulation.elapsed.components.seconds)")
      }
      simulation.run(for: .seconds(100))
      #expect(trace.tokens == ["408 close, end", "10"])
    }
  }

  // MARK: - Many at once

  @Test func `a hundred slow clients of each kind keep an honest one from nothing`() {
    withSimulation { simulation in
      let scene = Scene(simulation, port: 1_031) { request, response in
        _ = try await request.body.collect()
        let count = request.head.path == "/long" ? 10_000_000 : 1
        try await response.send(HTTPResponse(status: .ok), body: [UInt8](repeating: 0, count: count))
      }
      let slow: [[String]] = [
        Self.letters("GET /" + String(repeating: "t", count: 600)),
        [Self.post(1_000)] + [String](repeating: "b", count: 600),
        [Self.chunkedPost] + [String](repeating: "1\r\nb\r\n", count: 600), [],
      ]
      for pieces in slow {
        for _ in 0..<100 { scene.connect { client in _ = await Self.end(of: client, sending: pieces) } }
      }
      for _ in 0..<100 {
        scene.connect { client in
          try await client.send("GET /long HTTP/1.1\r\nHost: a\r\n\r\n")
          try await client.connection.loop.clock.sleep(for: .seconds(600))
        }
      }
      let honest = Trace()
      scene.connect { client in
        for _ in 0..<100 {
          let begin = simulation.elapsed
          try await client.send(Self.get)
          honest.note(try await client.response().hasPrefix("HTTP/1.1 200") ? "200" : "other")
          // A way of 100 microseconds there, and back.
          if simulation.elapsed - begin > .milliseconds(1) { honest.note("late") }
          try await client.connection.loop.clock.sleep(for: .seconds(1))
        }
        client.connection.close()
      }
      simulation.run(for: .seconds(200))
      #expect(honest.tokens == [String](repeating: "200", count: 100))
      #expect(scene.counts == "accepted=501 requests=400 limit:idle=200 limit:headTime=100 limit:bodyTime=200")
      #expect(scene.server.openDescriptorCount == 1)
    }
  }

  @Test func `a server that drains says so, and how many are left`() {
    withSimulation { simulation in
      let scene = Scene(simulation, grace: .seconds(30), port: 1_032, echo)
      scene.connect { client in _ = await Self.end(of: client, sending: [Self.post(1_000)]) }
      scene.connect { client in _ = await Self.end(of: client, sending: [Self.get]) }
      simulation.run(for: .seconds(5))
      #expect(scene.counts == "connections=2 accepted=2 requests=2")
      scene.serving.cancel()
      simulation.run(for: .seconds(5))
      #expect(scene.counts == "connections=1 draining=1 accepted=2 requests=2")
      simulation.run(for: .seconds(30))
      #expect(scene.counts == "")
    }
  }
}

extension String {
  fileprivate func components(separated separator: String) -> [Substring] {
    split(separator: separator, omittingEmptySubsequences: false)
  }
}
