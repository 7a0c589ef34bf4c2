import HTTPTypes
import Rondo
import RondoHTTP
import RondoSockets
import RondoTesting
import Testing

/// What a client gets for requests that keep all rules.
@Suite struct ExchangeTests {
  private static let get = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"

  @Test func `a GET is answered, and an idle connection ends after the idle limit`() {
    let answers = Scene.answers([Self.get], echo)
    #expect(answers == Answers(text: ok("GET /a "), end: "end", second: 60, errors: []))
  }

  @Test func `a POST gives its body to the handler`() {
    let answers = Scene.answers(["POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"], echo)
    #expect(answers.text == ok("POST /b hello"))
  }

  @Test func `the date is that of the clock`() throws {
    withSimulation { simulation in
      let scene = Scene(simulation, echo)
      scene.connect { client in
        try await client.send(Self.get)
        for _ in 0..<4 { client.trace.note(try await client.connection.readLine() ?? "") }
      }
      simulation.run(for: .seconds(1))
      #expect(
        scene.trace.tokens == ["HTTP/1.1 200 OK", "date: Thu, 01 Jan 2026 00:00:00 GMT", "content-length: 7", ""])
    }
  }

  @Test func `a HEAD gets the length of the body without it`() {
    let answers = Scene.answers(["HEAD /a HTTP/1.1\r\nHost: a\r\n\r\n"], echo)
    #expect(answers.text == "HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\n")
  }

  @Test func `a HEAD of a streamed response gets its head alone`() {
    let answers = Scene.answers(["HEAD /a HTTP/1.1\r\nHost: a\r\n\r\n", Self.get]) { request, response in
      try await response.start(HTTPResponse(status: .ok))
      try await response.write(Array("abc".utf8))
    }
    #expect(
      answers.text == "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
        + "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
  }

  @Test(arguments: [204, 304])
  func `some statuses have no body and no length`(code: Int) {
    let answers = Scene.answers([Self.get]) { _, response in
      try await response.send(HTTPResponse(status: .init(code: code)), body: [1, 2, 3])
    }
    let status = HTTPResponse.Status(code: code)
    #expect(answers.text == "HTTP/1.1 \(code) \(status.reasonPhrase)\r\n\r\n")
    #expect(answers.second == 60)
  }

  @Test func `a client of HTTP 1·0 gets a close`() {
    let answers = Scene.answers(["GET /a HTTP/1.0\r\n\r\n"], echo)
    #expect(answers == Answers(text: ok("GET /a ", "connection: close\r\n"), end: "end", second: 0, errors: []))
  }

  @Test func `a client of HTTP 1·0 keeps its connection if it asks for that`() {
    let answers = Scene.answers(["GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"], echo)
    #expect(answers.text == ok("GET /a ", "connection: keep-alive\r\n"))
    #expect(answers.second == 60)
  }

  @Test func `a client that asks for a close gets it`() {
    let answers = Scene.answers(["GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" + Self.get], echo)
    #expect(answers == Answers(text: ok("GET /a ", "connection: close\r\n"), end: "end", second: 0, errors: []))
  }

  @Test func `a handler can ask for the close`() {
    let answers = Scene.answers([Self.get + Self.get]) { _, response in
      try await response.send(HTTPResponse(status: .ok, headerFields: [.connection: "close"]))
    }
    #expect(answers == Answers(text: ok("", "connection: close\r\n"), end: "end", second: 0, errors: []))
  }

  @Test func `requests of one write are answered in their order, one at a time`() {
    withSimulation { simulation in
      let scene = Scene(simulation) { request, response in
        if request.head.path == "/1" { try await simulation.hosts[0].loop.clock.sleep(for: .seconds(5)) }
        try await echo(request, response)
      }
      scene.connect { client in
        try await client.send(
          "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nPOST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nxy"
            + "GET /3 HTTP/1.1\r\nHost: a\r\n\r\n")
        for _ in 0..<3 {
          client.trace.note(try await client.response())
          client.trace.note("\(simulation.elapsed.components.seconds)")
        }
      }
      simulation.run(for: .seconds(20))
      #expect(scene.trace.tokens == [ok("GET /1 "), "5", ok("POST /2 xy"), "5", ok("GET /3 "), "5"])
    }
  }

  @Test func `a body in chunks is put together, and its trailers follow`() {
    let answers = Scene.answers([
      "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123\r\n\r\n89\r\n"
        + "0\r\nX-Sum: 13\r\n\r\nGET /d HTTP/1.1\r\nHost: a\r\n\r\n"
    ]) { request, response in
      #expect(request.body.trailers == nil)
      let body = try await request.body.collect()
      let sum = request.body.trailers?[.init("X-Sum")!] ?? "-"
      try await response.send(HTTPResponse(status: .ok), body: body + Array(sum.utf8))
    }
    #expect(answers.text == ok("abc0123\r\n\r\n8913") + ok("-"))
  }

  @Test func `a conversation byte by byte is the same`() {
    let bytes =
      Self.get
      + "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\n\r\n\r\n0\r\nA: b\r\n\r\n"
      + "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello\r\nHEAD / HTTP/1.1\r\nHost: a\r\n\r\n" + Self.get
    let expected =
      ok("GET /a ") + ok("POST /c abc\r\n") + ok("POST /b hello") + "HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n"
      + ok("GET /a ")
    #expect(Scene.answers([bytes], ends: true, echo).text == expected)
    #expect(Scene.answers(bytes: bytes.utf8.map { [$0] }, ends: true, echo).text == expected)
  }

  @Test func `empty lines before a request are left out, and are none of their own`() {
    let answers = Scene.answers(["\r\n\r\n" + Self.get + "\r\n"], ends: true, echo)
    #expect(answers == Answers(text: ok("GET /a "), end: "end", second: 0, errors: []))
  }

  @Test func `a client that sends an empty line after a body is idle`() {
    let answers = Scene.answers([Self.get + "\r\n"], echo)
    #expect(answers == Answers(text: ok("GET /a "), end: "end", second: 60, errors: []))
  }

  @Test func `spaces around a value are not a part of it`() {
    let answers = Scene.answers(["GET / HTTP/1.1\r\nHost: \t a \t\r\nX-A:b\t \r\nContent-Length: 0 \r\n\r\n"]) {
      try await $1.send("\($0.head.authority!)|\($0.head.headerFields[.init("X-A")!]!)|")
    }
    #expect(answers.text.hasSuffix("\r\n\r\na|b|"))
  }

  @Test func `bytes of a value that are no text of ASCII reach the handler as UTF-8`() {
    let answers = Scene.answers(["GET / HTTP/1.1\r\nHost: a\r\nX-A: é\r\n\r\n"]) {
      try await $1.send(HTTPResponse(status: .ok), body: Array($0.head.headerFields[.init("X-A")!]!.utf8))
    }
    #expect(answers.text == ok("é"))
  }

  @Test func `the handler sees the address of the client, the scheme and the fields`() {
    let answers = Scene.answers(["GET /q?x=1 HTTP/1.1\r\nHost: h:8\r\nA: 1\r\na: 2\r\n\r\n"]) { request, response in
      let head = request.head
      let peer = request.peer.map { "\($0)".hasPrefix("10.0.0.2") } ?? false
      let fields = head.headerFields.map { "\($0.name)=\($0.value)" }.joined(separator: " ")
      try await response.send(
        HTTPResponse(status: .ok),
        body: Array("\(peer) \(head.scheme!) \(head.authority!) \(head.path!) \(fields)".utf8))
    }
    #expect(answers.text == ok("true http h:8 /q?x=1 A=1 a=2"))
  }

  @Test func `an address as target counts more than the host`() {
    let handler: Handler = { request, response in
      let text = "\(request.head.authority ?? "-") \(request.head.path ?? "-")"
      try await response.send(HTTPResponse(status: .ok), body: Array(text.utf8))
    }
    let answers = Scene.answers(
      [
        "GET http://b:81/x?y HTTP/1.1\r\nHost: a\r\n\r\nGET HTTP://b?y HTTP/1.1\r\nHost: a\r\n\r\n"
          + "GET https://b HTTP/1.1\r\nHost: a\r\n\r\n"
      ], handler)
    #expect(answers.text == ok("b:81 /x?y") + ok("b /?y") + ok("b /"))
    #expect(Scene.answers(["OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"], handler).text == ok("a *"))
    #expect(Scene.answers(["GET / HTTP/1.1\r\nHost:\r\n\r\n"], handler).text == ok(" /"))
    #expect(Scene.answers(["GET / HTTP/1.0\r\n\r\n"], handler).text == ok("- /", "connection: close\r\n"))
  }

  @Test func `a CONNECT has an authority without a path, and is the last request`() {
    let answers = Scene.answers(["CONNECT b:443 HTTP/1.1\r\nHost: b:443\r\n\r\n" + Self.get]) { request, response in
      #expect(request.head.path == nil)
      try await response.send(
        HTTPResponse(status: .methodNotAllowed), body: Array("\(request.head.authority ?? "-")".utf8))
    }
    #expect(
      answers.text == "HTTP/1.1 405 Method Not Allowed\r\nconnection: close\r\ncontent-length: 5\r\n\r\nb:443")
    #expect(answers.second == 0)
  }
}
