import HTTPTypes
import NIOCore
import NIOWebSocket
import Rondo
import RondoHTTP
import RondoNIO
import RondoSockets
import RondoTesting
import Testing

/// Connections that are handed over, and servers that end.
@Suite struct EndTests {
  private static let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
  private static let upgrade = "GET /u HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: lines\r\n\r\n"
  private static let switched = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: lines\r\nconnection: upgrade\r\n\r\n"

  /// Answers each line with itself.
  private static let lines: Handler = { request, response in
    let connection = try await response.upgrade([.upgrade: "lines"])
    while let line = try await connection.readLine() { try await connection.write("<\(line)>") }
  }

  @Test func `an upgrade hands the connection over, with the bytes behind the request`() {
    let later = "one\nGET / HTTP/1.1\r\n\r\ntwo\n"
    let expected = Self.switched + "<one><GET / HTTP/1.1><><two>"
    let answers = [[Self.upgrade + later], [Self.upgrade, later], (Self.upgrade + later).map { "\($0)" }].map {
      Scene.answers($0, ends: true, Self.lines)
    }
    #expect(answers.map(\.text) == [expected, expected, expected])
    #expect(answers.map(\.end) == ["end", "end", "end"])
  }

  @Test func `an upgrade with a body reads that first`() {
    let request = "POST / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: lines\r\nContent-Length: 4\r\n\r\n"
    #expect(Scene.answers([request + "bodyone\n"], ends: true, Self.lines).text == Self.switched + "<one>")
  }

  @Test func `a connection that was handed over closes with its handler`() {
    let answers = Scene.answers([Self.upgrade + "one\n"]) { request, response in
      let connection = try await response.upgrade([.upgrade: "lines"])
      try await connection.write(try await connection.readLine() ?? "none")
    }
    #expect(answers == Answers(text: Self.switched + "one", end: "end", second: 0, errors: []))
  }

  @Test func `an upgrade that the handler answers normally ends the connection`() {
    let answers = Scene.answers([Self.upgrade + Self.get], echo)
    #expect(answers == Answers(text: ok("GET /u ", "connection: close\r\n"), end: "end", second: 0, errors: []))
  }

  @Test func `a request without an upgrade is not upgraded`() {
    let answers = Scene.answers([Self.get], Self.lines)
    #expect(answers == Answers(text: refusal(.upgradeRequired), end: "end", second: 0, errors: []))
  }

  @Test func `a WebSocket is served by SwiftNIO's coders`() {
    let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    // "hi" in a masked frame; and a close.
    let frame: [UInt8] = [0x81, 0x82, 1, 2, 3, 4, 0x68 ^ 1, 0x69 ^ 2]
    let head = "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\(key)\r\n"
    let answers = Scene.answers(bytes: [Array(head.utf8) + frame, frame, [0x88, 0x80, 0, 0, 0, 0]]) { _, response in
      let connection = try await response.upgrade([.upgrade: "websocket"])
      let pipeline = try Pipeline<WebSocketFrame, WebSocketFrame>(over: connection) { channel in
        try channel.pipeline.syncOperations.addHandlers(
          [ByteToMessageHandler(WebSocketFrameDecoder()), WebSocketFrameEncoder()] as [any ChannelHandler])
      }
      for try await frame in pipeline {
        if frame.opcode == .connectionClose { break }
        try await pipeline.write(WebSocketFrame(fin: true, opcode: .text, data: frame.unmaskedData))
      }
      try await pipeline.close()
    }
    let expected = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nconnection: upgrade\r\n\r\n"
    #expect(Array(answers.text.utf8) == Array((expected + "\u{FFFD}\u{02}hi\u{FFFD}\u{02}hi").utf8))
    #expect(answers.end == "end")
  }

  /// What clients get of a server that is cancelled in the 10th second, while a request is served for a while.
  private func drain(grace: Duration, work: Duration) -> (notes: [String], end: Int, left: Int) {
    withSimulation { simulation in
      let scene = Scene(simulation, limits: .none, grace: grace) { request, response in
        if request.head.path == "/slow" { try await simulation.hosts[0].loop.clock.sleep(for: work) }
        try await echo(request, response)
      }
      for path in ["/idle", "/slow"] {
        scene.connect { client in
          if path == "/slow" { try await client.connection.loop.clock.sleep(for: .seconds(8)) }
          try await client.send("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n")
          client.trace.note(try await client.response())
          let end = try await client.connection.read() == nil
          client.trace.note("\(path) \(simulation.elapsed.components.seconds) \(end)")
        }
      }
      scene.connect { client in
        let end = try await client.connection.read() == nil
        client.trace.note("new \(simulation.elapsed.components.seconds) \(end)")
      }
      simulation.at(.seconds(10)) { scene.serving.cancel() }
      let ended = Trace()
      scene.server.start {
        try? await scene.serving.value
        ended.note("\(simulation.elapsed.components.seconds)")
      }
      simulation.run(for: .seconds(100))
      return (scene.trace.tokens, ended.tokens.last.flatMap { Int($0) } ?? -1, scene.server.openDescriptorCount)
    }
  }

  /// The same as the last response of its connection.
  private func last(_ body: String) -> String {
    ok(body, "connection: close\r\n")
  }

  @Test func `a drain answers the request in progress, and ends idle connections after a second`() {
    let (notes, end, left) = drain(grace: .seconds(30), work: .seconds(5))
    #expect(Set(notes) == ["/idle 11 true", "/slow 13 true", ok("GET /idle "), last("GET /slow "), "new 10 true"])
    #expect(end == 13)
    #expect(left == 0)
  }

  /// What a client gets that keeps its connection, and sends a request, or several at once, into the drain.
  private func sendIntoDrain(_ requests: String, after delay: Duration) -> [String] {
    withSimulation { simulation in
      let scene = Scene(simulation, limits: .none, grace: .seconds(30)) { try await echo($0, $1) }
      scene.connect { client in
        try await client.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\n")
        client.trace.note(try await client.response())
        try await client.connection.loop.clock.sleep(for: .seconds(10) + delay - .milliseconds(10))
        try await client.send(requests)
        while let response = try? await client.response(), !response.isEmpty { client.trace.note(response) }
        client.trace.note("end")
      }
      simulation.at(.seconds(10)) { scene.serving.cancel() }
      simulation.run(for: .seconds(100))
      return scene.trace.tokens
    }
  }

  @Test func `a request that was on its way when the drain began is answered, as the last one`() {
    let words = sendIntoDrain("GET /2 HTTP/1.1\r\nHost: a\r\n\r\n", after: .milliseconds(500))
    #expect(words == [ok("GET /1 "), last("GET /2 "), "end"])
  }

  @Test func `requests that came together into a drain are all answered`() {
    let two = "GET /2 HTTP/1.1\r\nHost: a\r\n\r\nGET /3 HTTP/1.1\r\nHost: a\r\n\r\n"
    let words = sendIntoDrain(two, after: .milliseconds(500))
    #expect(words == [ok("GET /1 "), ok("GET /2 "), last("GET /3 "), "end"])
  }

  @Test func `a request that comes a second after the drain began is too late`() {
    let words = sendIntoDrain("GET /2 HTTP/1.1\r\nHost: a\r\n\r\n", after: .milliseconds(1_500))
    #expect(words == [ok("GET /1 "), "end"])
  }

  @Test func `a drain cuts the request that takes longer than the grace`() {
    let (notes, end, left) = drain(grace: .seconds(3), work: .seconds(50))
    let ends = notes.filter { $0.hasPrefix("/") || $0.hasPrefix("new") }
    #expect(ends.sorted() == ["/idle 11 true", "/slow 13 true", "new 10 true"])
    #expect(!notes.contains(ok("GET /slow ")))
    #expect(end == 13)
    #expect(left == 0)
  }

  @Test func `a drain gives its grace to the beginning of a request`() {
    withSimulation { simulation in
      let scene = Scene(simulation, grace: .seconds(30), echo)
      scene.connect { client in
        try await client.send(Self.get + "GET /half")
        client.trace.note(try await client.response())
        try await client.connection.loop.clock.sleep(for: .seconds(5))
        try await client.send(" HTTP/1.1\r\nHost: a\r\n\r\n")
        client.trace.note(try await client.response())
      }
      simulation.at(.seconds(2)) { scene.serving.cancel() }
      simulation.run(for: .seconds(10))
      #expect(scene.trace.tokens == [ok("GET / "), last("GET /half ")])
    }
  }
}
