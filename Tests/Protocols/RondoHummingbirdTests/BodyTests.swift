import Hummingbird
import NIOCore
import RondoHTTP
import RondoHummingbird
import RondoSockets
import RondoTesting
import Testing

/// Bodies of requests: collected, streamed, too long, left alone.
@Suite struct BodyTests {
  private struct Item: Codable, ResponseEncodable {
    var name: String
    var count: Int
  }

  private static var router: Router<BasicRequestContext> {
    let router = Router()
    router.post("collect") { request, _ in String(buffer: try await request.body.collect(upTo: 100)) }
    router.post("count") { request, _ in
      var count = 0
      for try await piece in request.body { count += piece.readableBytes }
      return "\(count)"
    }
    router.post("echo") { request, _ in Response(status: .ok, body: .init(asyncSequence: request.body)) }
    router.post("ignore") { _, _ in "ignored" }
    router.post("few") { request, _ in
      var request = request
      return String(buffer: try await request.collectBody(upTo: 4))
    }
    router.post("item") { request, context in
      var item = try await request.decode(as: Item.self, context: context)
      item.count += 1
      return item
    }
    return router
  }

  private static let chunks = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"

  @Test func `a body with a length is collected, and so is none`() {
    let answers = ask(
      Self.router, request("POST /collect", body: "hello"), request("POST /collect", body: ""),
      request("POST /collect"))
    #expect(answers.map(\.description) == ["200 hello", "200", "200"])
  }

  @Test func `a body in chunks is collected`() {
    let answers = ask(
      Self.router,
      "POST /collect HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
      request("POST /collect", body: "f"))
    #expect(answers.map(\.description) == ["200 abcde", "200 f"])
  }

  @Test func `a long body is streamed`() {
    let body = String(repeating: "x", count: 300_000)
    #expect(ask(Self.router, request("POST /count", body: body)).map(\.description) == ["200 300000"])
  }

  @Test func `a body goes back as it comes`() {
    let body = String(repeating: "0123456789", count: 20_000)
    let answers = ask(Self.router, request("POST /echo", body: body))
    #expect(answers.map(\.status) == [200] && answers.first?.body == body)
    #expect(answers.first?.fields["transfer-encoding"] == "chunked")
  }

  @Test func `a body that the route leaves alone is passed over`() {
    let answers = ask(Self.router, request("POST /ignore", body: "hello"), request("POST /collect", body: "next"))
    #expect(answers.map(\.description) == ["200 ignored", "200 next"])
  }

  @Test func `a body in JSON is decoded, and what the route returns is encoded`() {
    let fields = "Content-Type: application/json"
    let answers = ask(
      Self.router, request("POST /item", fields, body: #"{"name":"a","count":1}"#),
      request("POST /item", fields, body: #"{"name":"a"}"#))
    #expect(answers.map(\.status) == [200, 400])
    #expect(answers[0].body.contains(#""count":2"#) && answers[0].body.contains(#""name":"a""#))
  }

  @Test(arguments: ["Content-Length: 5\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"])
  func `a body over the server's limit gets 413, and the connection ends`(_ rest: String) {
    let answers = ask(
      Self.router, "POST /collect HTTP/1.1\r\nHost: a\r\n\(rest)", request("POST /collect", body: "next"),
      limits: ServerLimits(bodyBytes: 4))
    #expect(answers.map(\.description) == ["413"])
    #expect(answers.first?.fields["connection"] == "close")
  }

  @Test func `a body over the route's limit gets 413, and the connection goes on`() {
    let answers = ask(
      Self.router, request("POST /few", body: "hello"), request("POST /few", body: "four"))
    #expect(answers.map(\.description) == ["413", "200 four"])
  }

  @Test func `a broken chunk is the client's fault, and the connection ends`() {
    let answers = ask(
      Self.router, "POST /collect HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
      request("POST /collect", body: "next"))
    #expect(answers.map(\.status) == [400])
  }

  @Test func `a body that ends with the connection is the client's fault`() {
    let answers = ask(Self.router, "POST /collect HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhello")
    #expect(answers.map(\.status) == [400])
  }

  @Test func `an echo that the client cuts has no end`() {
    let answers = ask(Self.router, Self.chunks + "3\r\nabc\r\n")
    #expect(answers.map(\.description) == ["200 abc"])
    #expect(answers.first?.isWhole == false)
  }

  @Test func `a client that waits for it is asked for its body, once its route reads`() {
    let answers = ask(
      Self.router, request("POST /collect", "Expect: 100-continue", body: "hello"), request("POST /ignore"))
    #expect(answers.map(\.description) == ["100", "200 hello", "200 ignored"])
  }

  @Test func `a body that does not come gets 408 in the server's time`() {
    let trace = Trace()
    withSimulation { simulation in
      let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let (serverLoop, clientLoop) = (server.loop, client.loop)
      let responder = Self.router.buildResponder()
      server.start {
        try await Listener(at: address).serveHTTP(
          on: serverLoop, HTTPServer(responder: responder, logger: silent),
          limits: ServerLimits(bodyTime: .seconds(20)))
      }
      client.start {
        let connection = try await Connection.connected(to: address, on: clientLoop)
        try await connection.write("POST /collect HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n")
        trace.note(try await connection.readLine() ?? "no answer")
        trace.note("\(simulation.elapsed.components.seconds)")
      }
      simulation.run(for: .seconds(100))
    }
    #expect(trace.text == "HTTP/1.1 408 Request Timeout 20")
  }
}
