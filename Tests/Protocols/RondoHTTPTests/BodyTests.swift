import HTTPTypes
import Rondo
import RondoHTTP
import RondoSockets
import RondoTesting
import Testing

/// Bodies of requests: who waits for them, how much of them, and how long.
@Suite struct BodyTests {
  private static let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

  private static func post(_ length: Int, _ fields: String = "") -> String {
    "POST / HTTP/1.1\r\nHost: a\r\n\(fields)Content-Length: \(length)\r\n\r\n"
  }

  private static let chunkedPost = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
  private static let ignore: Handler = { _, response in try await response.send(HTTPResponse(status: .ok)) }

  @Test func `who waits to be asked for a body is asked at the first read`() {
    withSimulation { simulation in
      let scene = Scene(simulation) { request, response in
        try await simulation.hosts[0].loop.clock.sleep(for: .seconds(3))
        try await echo(request, response)
      }
      scene.connect { client in
        try await client.send(Self.post(2, "Expect: 100-continue\r\n"))
        for _ in 0..<2 { client.trace.note(try await client.connection.readLine() ?? "end") }
        client.trace.note("\(simulation.elapsed.components.seconds)")
        try await client.send("ab" + Self.get)
        client.trace.note(try await client.response())
        client.trace.note(try await client.response())
      }
      simulation.run(for: .seconds(20))
      #expect(scene.trace.tokens == ["HTTP/1.1 100 Continue", "", "3", ok("POST / ab"), ok("GET / ")])
    }
  }

  @Test func `who was not asked for a body gets the response, and a close`() {
    let answers = Scene.answers([Self.post(2, "Expect: 100-continue\r\n")], Self.ignore)
    #expect(answers == Answers(text: ok("", "connection: close\r\n"), end: "end", second: 0, errors: []))
  }

  @Test func `within a response the client is not asked`() {
    let answers = Scene.answers([Self.post(2, "Expect: 100-continue\r\n"), "ab" + Self.get]) { request, response in
      try await response.start(HTTPResponse(status: .ok, headerFields: [.contentLength: "2"]))
      try await response.write(try await request.body.collect())
    }
    #expect(answers == Answers(text: ok("ab", "connection: close\r\n"), end: "end", second: 0, errors: []))
  }

  @Test func `without a body there is nothing to ask for`() {
    let answers = Scene.answers(["GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n"], echo)
    #expect(answers == Answers(text: ok("GET / "), end: "end", second: 60, errors: []))
  }

  @Test func `a client of HTTP 1·0 is not asked`() {
    let answers = Scene.answers(
      ["POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n", "x"], echo)
    #expect(answers.text == ok("POST / x", "connection: close\r\n"))
  }

  @Test func `an unread body within the bound is left out, and the next request is served`() {
    let body = String(repeating: "b", count: 1_000)
    let limits = ServerLimits(unreadBytes: 1_000)
    let answers = Scene.answers([Self.post(1_000) + body + Self.get], limits: limits, Self.ignore)
    #expect(answers == Answers(text: ok("") + ok(""), end: "end", second: 60, errors: []))
  }

  @Test func `an unread body beyond the bound ends the connection, and the client has its response`() {
    let body = String(repeating: "b", count: 1_001)
    let limits = ServerLimits(unreadBytes: 1_000)
    let answers = Scene.answers([Self.post(1_001), body + Self.get], limits: limits, Self.ignore)
    #expect(answers == Answers(text: ok(""), end: "end", second: 0, errors: []))
  }

  @Test func `an unread body that is wrong ends the connection, and the client has its response`() {
    let answers = Scene.answers([Self.chunkedPost + "zz\r\n" + Self.get], Self.ignore)
    #expect(answers == Answers(text: ok(""), end: "end", second: 0, errors: []))
  }

  @Test func `a length beyond the limit gets 413 before a byte of the body`() {
    let limits = ServerLimits(bodyBytes: 10)
    #expect(
      Scene.answers([Self.post(11)], limits: limits, echo)
        == Answers(text: refusal(.contentTooLarge), end: "end", second: 0, errors: []))
    #expect(Scene.answers([Self.post(10) + "0123456789"], limits: limits, echo).text == ok("POST / 0123456789"))
  }

  @Test func `chunks beyond the limit get 413`() {
    let limits = ServerLimits(bodyBytes: 10)
    let (most, more) = ("5\r\n01234\r\n5\r\n56789\r\n", "1\r\na\r\n")
    #expect(
      Scene.answers([Self.chunkedPost + most + "0\r\n\r\n"], limits: limits, echo).text == ok("POST / 0123456789"))
    #expect(
      Scene.answers([Self.chunkedPost, most, more + "0\r\n\r\n" + Self.get], limits: limits, echo)
        == Answers(text: refusal(.contentTooLarge), end: "end", second: 0, errors: []))
  }

  @Test func `a handler chooses another limit`() {
    let limits = ServerLimits(bodyBytes: 10)
    let answers = Scene.answers([Self.post(11) + "0123456789a"], limits: limits) { request, response in
      let body = try await request.body(upTo: 11).collect()
      try await response.send(HTTPResponse(status: .ok), body: body)
    }
    #expect(answers.text == ok("0123456789a"))
  }

  @Test func `a body that does not come in time gets 408`() {
    let answers = Scene.answers([Self.post(3) + "a"], limits: ServerLimits(idle: nil, bodyTime: .seconds(7)), echo)
    #expect(answers == Answers(text: refusal(.requestTimeout), end: "end", second: 7, errors: []))
  }

  @Test func `a body that comes a byte at a time has no more time`() {
    withSimulation { simulation in
      let scene = Scene(simulation, limits: ServerLimits(idle: nil, bodyTime: .seconds(7)), echo)
      scene.connect { client in
        try await client.send(Self.post(100))
        let writing = Task(executorPreference: client.connection.loop) {
          while true {
            try await client.connection.loop.clock.sleep(for: .seconds(1))
            try await client.send("x")
          }
        }
        client.trace.note(try await client.response())
        client.trace.note("\(simulation.elapsed.components.seconds)")
        writing.cancel()
      }
      simulation.run(for: .seconds(100))
      #expect(scene.trace.tokens == [refusal(.requestTimeout), "7"])
    }
  }

  @Test func `a client that ends within a body gets 400`() {
    let answers = Scene.answers([Self.post(3) + "a"], ends: true, echo)
    #expect(answers == Answers(text: refusal(.badRequest), end: "end", second: 0, errors: []))
  }

  @Test func `trailers are a part of what a head may have`() {
    let limits = ServerLimits(headBytes: 200)
    let trailer = "X-T: " + String(repeating: "t", count: 200) + "\r\n"
    let answers = Scene.answers([Self.chunkedPost + "0\r\n" + trailer + "\r\n"], limits: limits, echo)
    #expect(answers.text == refusal(.requestHeaderFieldsTooLarge))
  }

  @Test func `extensions of chunks have a limit, and small chunks are not beyond it`() {
    let limits = ServerLimits(headBytes: 200)
    let extended = "1;" + String(repeating: "e", count: 300)
    let end = "\r\nb\r\n0\r\n\r\n"
    #expect(
      Scene.answers([Self.chunkedPost, extended, end + Self.get], limits: limits, echo)
        == Answers(text: refusal(.requestHeaderFieldsTooLarge), end: "end", second: 0, errors: []))
    let small = String(repeating: "1\r\na\r\n", count: 500)
    let answers = Scene.answers((Self.chunkedPost + small + "0\r\n\r\n").map { "\($0)" }, limits: limits, echo)
    #expect(answers.text == ok("POST / " + String(repeating: "a", count: 500)))
  }

  @Test func `a client that sends extensions without end is refused`() {
    withSimulation { simulation in
      let scene = Scene(simulation, echo)
      scene.connect { client in
        try await client.send(Self.chunkedPost + "1;")
        let writing = Task(executorPreference: client.connection.loop) {
          while true {
            try await client.send(String(repeating: "e", count: 4_096))
            client.trace.note("e")
            try await client.connection.loop.clock.sleep(for: .milliseconds(1))
          }
        }
        client.trace.note(try await client.response())
        writing.cancel()
      }
      simulation.run(for: .seconds(10))
      #expect(scene.trace.tokens == ["e", "e", "e", "e", refusal(.requestHeaderFieldsTooLarge)])
    }
  }

  @Test func `the next piece after the end of a body is nil, again and again`() {
    let answers = Scene.answers([Self.post(1) + "a"]) { request, response in
      var count = 0
      for try await piece in request.body { count += piece.count }
      for try await _ in request.body { count += 100 }
      try await response.send(HTTPResponse(status: .ok), body: Array("\(count)".utf8))
    }
    #expect(answers.text == ok("1"))
  }

  @Test func `a handler that does not read stops the client`() {
    withSimulation { simulation in
      let scene = Scene(simulation, limits: ServerLimits(idle: nil, bodyBytes: .max)) { request, response in
        try await simulation.hosts[0].loop.clock.sleep(for: .seconds(50))
        let count = try await request.body.collect().count
        try await response.send(HTTPResponse(status: .ok), body: Array("\(count)".utf8))
      }
      scene.connect { client in
        try await client.send(Self.post(1_000_000))
        try await client.connection.loop.clock.sleep(for: .seconds(1))
        for number in 0..<1_000 {
          try await client.connection.write([UInt8](repeating: 0, count: 1_000))
          client.trace.note("\(number)")
        }
        client.trace.note(try await client.response())
      }
      simulation.run(for: .seconds(40))
      // The window of a simulated stream: nothing is taken out of it.
      #expect(scene.trace.tokens.count == 65)
      simulation.run(for: .seconds(40))
      #expect(scene.trace.tokens.last == ok("1000000"))
    }
  }

  @Test func `a client that does not read suspends the handler`() {
    let trace = Trace()
    withSimulation { simulation in
      let scene = Scene(simulation, limits: .none) { request, response in
        try await response.start(HTTPResponse(status: .ok, headerFields: [.contentLength: "1000000"]))
        for number in 0..<1_000 {
          try await response.write([UInt8](repeating: 0x61, count: 1_000))
          trace.note("\(number)")
        }
      }
      scene.connect { client in
        try await client.send(Self.get)
        try await client.connection.loop.clock.sleep(for: .seconds(50))
        client.trace.note("\(try await client.response().utf8.count)")
      }
      simulation.run(for: .seconds(40))
      #expect(trace.tokens.count == 65)
      simulation.run(for: .seconds(40))
      #expect(scene.trace.tokens == ["1000044"])
      #expect(trace.tokens.count == 1_000)
    }
  }

  @Test func `a client that never reads is idle, and its handler is told`() {
    let trace = Trace()
    withSimulation { simulation in
      let scene = Scene(simulation) { request, response in
        do throws(HTTPServerError) {
          try await response.send(HTTPResponse(status: .ok), body: [UInt8](repeating: 0, count: 200_000))
        } catch {
          trace.note("\(simulation.elapsed.components.seconds) \(error == .connection(.wait(.timedOut)))")
        }
      }
      scene.connect { client in
        try await client.send(Self.get + Self.get)
        try await client.connection.loop.clock.sleep(for: .seconds(200))
      }
      simulation.run(for: .seconds(100))
      // The second request has no answer: it would be taken for a part of the first one's.
      #expect(trace.tokens == ["60 true"])
      #expect(scene.errors.tokens == [])
    }
  }

  @Test func `a reset ends the handler's waits, and is no error of the server`() {
    let trace = Trace()
    withSimulation { simulation in
      let scene = Scene(simulation) { request, response in
        do throws(HTTPServerError) {
          _ = try await request.body.collect()
        } catch {
          trace.note("\(error == .connection(.socket(.reset)))")
          throw error
        }
      }
      scene.connect { client in
        try await client.send(Self.post(3) + "a")
        try await client.connection.loop.clock.sleep(for: .seconds(100))
      }
      simulation.at(.seconds(5)) { simulation.link(scene.server, scene.client).reset() }
      simulation.run(for: .seconds(10))
      #expect(trace.tokens == ["true"])
      #expect(scene.errors.tokens == [])
      #expect(scene.server.openDescriptorCount == 1)
    }
  }
}
