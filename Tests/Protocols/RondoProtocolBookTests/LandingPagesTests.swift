import HTTPTypes
import Hummingbird
import Logging
import Rondo
import RondoHTTP
import RondoHummingbird
import RondoSockets
import RondoTesting
import Testing

// The examples of RondoHTTP.md, RondoHummingbird.md and of the comments of their declarations, compiled and run.
// `ExampleTextTests` compares the texts.

private let logger = Logger(label: "silent", factory: { _ in SwiftLogNoOpLogHandler() })

@Suite struct LandingPagesTests {
  /// Serves on a host, and writes requests from another one; all that is answered.
  private func ask(_ requests: String, _ serve: @escaping @Sendable (Loop, SocketAddress) async throws -> Void)
    -> String
  {
    withSimulation { simulation in
      let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let (serverLoop, clientLoop) = (server.loop, client.loop)
      let address = try! SocketAddress(parsing: "10.0.0.1:8080")
      let trace = Trace()
      server.start { try await serve(serverLoop, address) }
      client.start {
        let connection = try await Connection.connected(to: address, on: clientLoop)
        try await connection.write(requests)
        try await connection.finishWriting()
        while let bytes = try await connection.read() { trace.note(String(decoding: bytes, as: UTF8.self)) }
      }
      simulation.run(for: .seconds(60))
      return trace.tokens.joined()
    }
  }

  @Test func `RondoHTTP: a page, an upload, and what is not found`() {
    let text = ask(
      "GET / HTTP/1.1\r\nHost: a\r\n\r\nPOST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
        + "GET /none HTTP/1.1\r\nHost: a\r\n\r\n"
    ) { loop, address in
      let server = HTTPServer { request, response in
        switch (request.head.method, request.head.path) {
        case (.get, "/"): try await response.send("hello\n")
        case (.post, "/upload"):
          var count = 0
          for try await bytes in request.body(upTo: 1_073_741_824) { count += bytes.count }
          try await response.send("\(count) bytes\n")
        default: try await response.send("nothing is here\n", status: .notFound)
        }
      }
      let listener = try Listener(at: address)
      try await listener.serveHTTP(on: loop, server, limits: ServerLimits(idle: .seconds(30)), grace: .seconds(10))
    }
    #expect(text.contains("\r\n\r\nhello\nHTTP/1.1 200 OK\r\n"))
    #expect(text.contains("\r\n\r\n5 bytes\nHTTP/1.1 404 Not Found\r\n"))
  }

  @Test func `HTTPServer: the path comes back`() {
    let text = ask("GET /a HTTP/1.1\r\nHost: a\r\n\r\n") { loop, address in
      let listener = try Listener(at: address)
      try await listener.serveHTTP(on: loop) { request, response in
        try await response.send("hello from \(request.head.path ?? "/")\n")
      }
    }
    #expect(text.hasSuffix("\r\n\r\nhello from /a\n"))
  }

  @Test func `RondoHTTP: a stream of events`() {
    let text = ask("GET /events HTTP/1.1\r\nHost: a\r\n\r\n") { loop, address in
      let server = HTTPServer { _, response in
        try await response.start(HTTPResponse(status: .ok, headerFields: [.contentType: "text/event-stream"]))
        for number in 1...3 {
          try await response.write(Array("data: \(number)\n\n".utf8))
          try await loop.clock.sleep(for: .seconds(1))
        }
      }
      try await Listener(at: address).serveHTTP(on: loop, server)
    }
    #expect(text.hasSuffix("9\r\ndata: 1\n\n\r\n9\r\ndata: 2\n\n\r\n9\r\ndata: 3\n\n\r\n0\r\n\r\n"))
  }

  @Test func `RondoHummingbird: a greeting, and an echo`() {
    let text = ask(
      "GET /hello/ada HTTP/1.1\r\nHost: a\r\n\r\nPOST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
    ) { loop, address in
      let router = Router()
      router.get("hello/:name") { _, context in "hello \(try context.parameters.require("name"))\n" }
      router.post("echo") { request, _ in Response(status: .ok, body: ResponseBody(asyncSequence: request.body)) }
      let server = HTTPServer(responder: router.buildResponder(), logger: logger)
      let listener = try Listener(at: address)
      try await listener.serveHTTP(on: loop, server, grace: .seconds(10))
    }
    #expect(text.contains("\r\n\r\nhello ada\nHTTP/1.1 200 OK\r\n") && text.hasSuffix("\r\n\r\n3\r\nabc\r\n0\r\n\r\n"))
  }

  @Test func `HTTPServer of a responder: a greeting`() {
    let text = ask("GET /hello/ada HTTP/1.1\r\nHost: a\r\n\r\n") { loop, address in
      let listener = try Listener(at: address)
      let router = Router()
      router.get("hello/:name") { _, context in "hello \(try context.parameters.require("name"))\n" }
      try await listener.serveHTTP(on: loop, HTTPServer(responder: router.buildResponder(), logger: logger))
    }
    #expect(text.hasSuffix("\r\n\r\nhello ada\n"))
  }
}
