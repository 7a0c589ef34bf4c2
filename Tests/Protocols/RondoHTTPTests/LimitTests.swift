import HTTPTypes
import Rondo
import RondoHTTP
import RondoSockets
import RondoTesting
import Testing

/// How long a head may be, how long it may take, and how long nothing may come.
@Suite struct LimitTests {
  private static let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
  private static let limits = ServerLimits(headBytes: 100, headTime: .seconds(7))
  private static let patient = ServerLimits(idle: nil, headBytes: 100, headTime: .seconds(7))

  /// A request with a head of so many bytes, by its target or a field.
  private static func target(_ count: Int) -> String {
    "GET /" + String(repeating: "t", count: count - 27) + " HTTP/1.1\r\nHost: a\r\n\r\n"
  }

  private static func field(_ count: Int) -> String {
    "GET / HTTP/1.1\r\nHost: a\r\nX-A: " + String(repeating: "f", count: count - 34) + "\r\n\r\n"
  }

  private static func statuses(_ text: String, more: String = "") -> [[Int]] {
    [[text + more], text.map { "\($0)" } + [more], [text, more]].map {
      Scene.answers($0, limits: limits) { try await $1.send(HTTPResponse(status: .ok)) }.statuses
    }
  }

  @Test func `a head of the most bytes is served`() {
    #expect(Self.target(100).utf8.count == 100)
    #expect(Self.field(100).utf8.count == 100)
    #expect(Self.statuses(Self.target(100)) == [[200], [200], [200]])
    #expect(Self.statuses(Self.field(100), more: Self.get) == [[200, 200], [200, 200], [200, 200]])
  }

  @Test func `fields of more bytes get 431, however they come`() {
    #expect(Self.statuses(Self.field(101)) == [[431], [431], [431]])
    #expect(Self.statuses(Self.field(101), more: Self.get) == [[431], [431], [431]])
    #expect(Self.statuses(Self.get + Self.field(5_000)) == [[200, 431], [200, 431], [200, 431]])
  }

  @Test func `a first line of more bytes gets 414, however it comes`() {
    #expect(Self.statuses(Self.target(130)) == [[414], [414], [414]])
    #expect(Self.statuses(Self.target(130), more: Self.get) == [[414], [414], [414]])
    #expect(Self.statuses(Self.get + Self.target(5_000)) == [[200, 414], [200, 414], [200, 414]])
  }

  @Test func `a head with a long body in the same write is not too long`() {
    let body = String(repeating: "b", count: 5_000)
    let answers = Scene.answers(
      ["POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n" + body + Self.get], limits: Self.limits, echo)
    #expect(answers.text == ok("POST / " + body) + ok("GET / "))
  }

  @Test func `empty lines without end get 414`() {
    let answers = Scene.answers([String(repeating: "\r\n", count: 60)], limits: Self.limits, echo)
    #expect(answers == Answers(text: refusal(.uriTooLong), end: "end", second: 0, errors: []))
  }

  @Test func `too many fields get 431`() {
    let fields = (0..<300).map { "A\($0): b\r\n" }.joined()
    let answers = Scene.answers(["GET / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n"], echo)
    #expect(answers.text == refusal(.requestHeaderFieldsTooLarge))
  }

  @Test func `a head that does not come in time gets 408, to the nanosecond`() {
    withSimulation { simulation in
      let scene = Scene(simulation, limits: Self.patient, echo)
      scene.connect { client in
        let loop = client.connection.loop
        try await loop.clock.sleep(for: .seconds(20))
        let writing = Task(executorPreference: loop) {
          for byte in "GET / HTTP/1.1" {
            try await client.send("\(byte)")
            try await loop.clock.sleep(for: .seconds(1))
          }
        }
        let begin = simulation.elapsed
        client.trace.note(try await client.response())
        // A way of 100 microseconds there, and back.
        client.trace.note("\(simulation.elapsed - begin == .seconds(7) + .microseconds(200))")
        writing.cancel()
      }
      simulation.run(for: .seconds(100))
      #expect(scene.trace.tokens == [refusal(.requestTimeout), "true"])
    }
  }

  @Test func `the beginning of a request behind another one has its time as well`() {
    let answers = Scene.answers([Self.get + "GET /"], limits: Self.patient, echo)
    #expect(answers == Answers(text: ok("GET / ") + refusal(.requestTimeout), end: "end", second: 7, errors: []))
  }

  @Test func `a client that ends within a head gets 400`() {
    let answers = Scene.answers([Self.get + "GET /"], ends: true, echo)
    #expect(answers == Answers(text: ok("GET / ") + refusal(.badRequest), end: "end", second: 0, errors: []))
  }

  @Test func `a client that ends between requests gets no more`() {
    let answers = Scene.answers([Self.get], ends: true, echo)
    #expect(answers == Answers(text: ok("GET / "), end: "end", second: 0, errors: []))
  }

  @Test func `an idle connection ends without a word`() {
    #expect(
      Scene.answers([], limits: ServerLimits(idle: .seconds(9)), echo)
        == Answers(text: "", end: "end", second: 9, errors: []))
    #expect(
      Scene.answers([Self.get], limits: ServerLimits(idle: .seconds(9)), echo)
        == Answers(text: ok("GET / "), end: "end", second: 9, errors: []))
  }

  @Test(arguments: ["", "GET /", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\na"])
  func `a deadline of the program's counts as well`(text: String) {
    withSimulation { simulation in
      let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let (serverLoop, clientLoop, trace) = (server.loop, client.loop, Trace())
      server.start {
        try await Listener(at: Scene.address).serve(on: serverLoop) { connection in
          connection.deadline = serverLoop.clock.now.advanced(by: .seconds(3))
          try await HTTPServer(handler: echo).serve(connection)
        }
      }
      client.start {
        let connection = try await Connection.connected(to: Scene.address, on: clientLoop)
        try await connection.write(text)
        var received = ""
        while let bytes = try await connection.read() { received += String(decoding: bytes, as: UTF8.self) }
        trace.note(withoutDate(received))
        trace.note("\(simulation.elapsed.components.seconds)")
      }
      simulation.run(for: .seconds(100))
      #expect(trace.tokens == [text.isEmpty ? "" : refusal(.requestTimeout), "3"])
    }
  }

  @Test func `a refused client that goes on sending is not waited for`() {
    withSimulation { simulation in
      let scene = Scene(simulation, echo)
      scene.connect { client in
        try await client.send("nonsense\r\n\r\n")
        client.trace.note(try await client.response())
        do {
          while true {
            try await client.connection.loop.clock.sleep(for: .milliseconds(100))
            try await client.send("more")
          }
        } catch {
          client.trace.note("\(simulation.elapsed.components.seconds)")
        }
      }
      simulation.run(for: .seconds(100))
      #expect(scene.trace.tokens == [refusal(.badRequest), "1"])
      #expect(scene.server.openDescriptorCount == 1)
    }
  }
}
