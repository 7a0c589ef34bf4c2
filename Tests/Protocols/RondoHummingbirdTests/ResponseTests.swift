import HTTPTypes
import Hummingbird
import NIOCore
import Rondo
import RondoHTTP
import RondoHummingbird
import RondoSockets
import RondoTesting
import Testing

/// How the body of a response is framed and ended.
@Suite struct ResponseTests {
  private struct Fault: Error {}

  private static func router(_ body: ResponseBody, status: HTTPResponse.Status = .ok) -> Router<BasicRequestContext> {
    let router = Router(options: .autoGenerateHeadEndpoints)
    router.get("/") { _, _ in Response(status: status, body: body) }
    router.get("next") { _, _ in "next" }
    return router
  }

  private static func pieces(of length: Int?, trailers: HTTPFields? = nil) -> ResponseBody {
    ResponseBody(contentLength: length) { writer in
      try await writer.write(ByteBuffer(string: "hello "))
      try await writer.write(ByteBuffer())
      try await writer.write(ByteBuffer(string: "world"))
      try await writer.finish(trailers)
    }
  }

  @Test func `a body without a length is sent in chunks`() {
    let answers = ask(Self.router(Self.pieces(of: nil)), request("GET /"), request("GET /next"))
    #expect(answers.map(\.description) == ["200 hello world", "200 next"])
    #expect(answers[0].fields["transfer-encoding"] == "chunked" && answers[0].fields["content-length"] == nil)
    #expect(answers[0].isWhole && answers[0].trailers == [:])
  }

  @Test func `a body of a known length has it, in however many pieces it is written`() {
    let whole = ResponseBody(byteBuffer: ByteBuffer(string: "hello world"))
    let parts = ResponseBody(contentsOf: [ByteBuffer(string: "hello "), ByteBuffer(string: "world")])
    for body in [whole, parts, Self.pieces(of: 11)] {
      let answers = ask(Self.router(body), request("GET /"), request("GET /next"))
      #expect(answers.map(\.description) == ["200 hello world", "200 next"])
      #expect(answers[0].fields["content-length"] == "11" && answers[0].fields["transfer-encoding"] == nil)
    }
  }

  @Test func `trailers follow a body in chunks`() {
    let body = Self.pieces(of: nil, trailers: [.eTag: "\"7\""])
    let answers = ask(Self.router(body), request("GET /"), request("GET /next"))
    #expect(answers.map(\.description) == ["200 hello world", "200 next"])
    #expect(answers[0].trailers == ["etag": "\"7\""])
  }

  @Test func `trailers of a body with a length are left out`() {
    let body = ResponseBody(contentLength: 5) { writer in
      try await writer.write(ByteBuffer(string: "hello"))
      try await writer.finish([.eTag: "\"7\""])
    }
    let answers = ask(Self.router(body), request("GET /"), request("GET /next"))
    #expect(answers.map(\.description) == ["200 hello", "200 next"])
    #expect(answers[0].fields["content-length"] == "5" && answers[0].trailers == [:])
  }

  @Test func `trailers of an empty body follow its last chunk`() {
    let body = ResponseBody { writer in try await writer.finish([.eTag: "\"7\""]) }
    let answers = ask(Self.router(body), request("GET /"))
    #expect(answers.map(\.description) == ["200"] && answers[0].trailers == ["etag": "\"7\""])
  }

  @Test func `an empty body has the length 0`() {
    let answers = ask(Self.router(ResponseBody()), request("GET /"), request("GET /next"))
    #expect(answers.map(\.description) == ["200", "200 next"])
    #expect(answers[0].fields["content-length"] == "0")
  }

  @Test func `a status without a body has no length`() {
    let answers = ask(Self.router(ResponseBody(), status: .noContent), request("GET /"), request("GET /next"))
    #expect(answers.map(\.description) == ["204", "200 next"])
    #expect(answers[0].fields["content-length"] == nil && answers[0].fields["transfer-encoding"] == nil)
  }

  @Test func `HEAD gets the fields of GET, and no body`() {
    for body in [ResponseBody(byteBuffer: ByteBuffer(string: "hello world")), Self.pieces(of: 11)] {
      let answers = ask(Self.router(body), request("HEAD /"), request("HEAD /next"))
      #expect(answers.map(\.status) == [200, 200])
      #expect(answers.map { $0.fields["content-length"] } == ["11", "4"])
    }
  }

  @Test func `a route of HEAD that returns a body gives its length alone`() {
    let router = Router()
    router.head("/") { _, _ in "hello" }
    let answers = ask(router, request("HEAD /"), request("HEAD /"))
    #expect(answers.map(\.status) == [200, 200] && answers.map { $0.fields["content-length"] } == ["5", "5"])
  }

  @Test func `a HEAD without a route is not found, without a body`() {
    let answers = ask(Router(), request("HEAD /none"), request("HEAD /none"))
    #expect(answers.map(\.status) == [404, 404])
  }

  @Test func `a body that fails after its first piece is cut, and the client sees that`() {
    let trace = Trace()
    let body = ResponseBody { writer in
      try await writer.write(ByteBuffer(string: "hello"))
      throw Fault()
    }
    let answers = ask(Self.router(body), request("GET /"), request("GET /next"), onError: { trace.note("\($0)") })
    #expect(answers.map(\.description) == ["200 hello"])
    #expect(answers.first?.isWhole == false)
    #expect(trace.text == "Fault()")
  }

  @Test func `a body that fails before its first piece is a 500`() {
    let body = ResponseBody { _ in throw Fault() }
    #expect(ask(Self.router(body), request("GET /"), request("GET /next")).map(\.status) == [500])
  }

  @Test func `a body shorter than its length is cut, and one longer is not sent beyond it`() {
    for (length, sent) in [(12, "hello world"), (7, "hello ")] {
      let answers = ask(Self.router(Self.pieces(of: length)), request("GET /"), request("GET /next"))
      #expect(answers.count == 1 && answers.first?.isWhole == false && answers.first?.body == sent)
    }
  }

  @Test func `pieces reach the client when the route writes them`() {
    let trace = Trace()
    withSimulation { simulation in
      let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let (serverLoop, clientLoop) = (server.loop, client.loop)
      let router = Router()
      router.get("/") { _, _ in
        Response(
          status: .ok,
          body: ResponseBody { writer in
            for number in 1...3 {
              try await serverLoop.clock.sleep(for: .seconds(10))
              try await writer.write(ByteBuffer(string: "\(number)"))
            }
            try await writer.finish(nil)
          })
      }
      let responder = router.buildResponder()
      server.start {
        try await Listener(at: address).serveHTTP(on: serverLoop, HTTPServer(responder: responder, logger: silent))
      }
      client.start {
        let connection = try await Connection.connected(to: address, on: clientLoop)
        try await connection.write(request("GET /"))
        while let line = try await connection.readLine() {
          if ["1", "2", "3"].contains(line) {
            // A chunk of one byte begins with its length, which is 1 as well.
            trace.note("\(line)@\(simulation.elapsed.components.seconds)")
          }
        }
      }
      simulation.run(for: .seconds(60))
    }
    #expect(trace.text == "1@10 1@10 1@20 2@20 1@30 3@30")
  }
}
