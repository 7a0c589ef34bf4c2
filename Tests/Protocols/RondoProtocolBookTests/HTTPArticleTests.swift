import Glibc
import HTTPTypes
import Hummingbird
import Logging
import Rondo
import RondoDaemon
import RondoHTTP
import RondoHummingbird
import RondoSockets
import RondoTesting
import Testing

// The servers of the article HTTP on the loop, compiled and run. `ExampleTextTests` compares them with the article.

private let logger = Logger(label: "silent", factory: { _ in SwiftLogNoOpLogHandler() })

/// Answers each request with its path and the length of its body, until the daemon stops.
func serveLengths(at address: SocketAddress, on loop: Loop) async throws -> Daemon.Outcome {
  let server = HTTPServer { request, response in
    let body = try await request.body.collect()
    try await response.send("\(request.head.path ?? "*"): \(body.count) bytes\n")
  }
  return try await withDaemon(on: loop, grace: .seconds(10)) { daemon in
    let listener = try Listener(at: address)
    daemon.ready()
    let limits = ServerLimits(connections: 1_000, idle: .seconds(30), bodyBytes: 65_536)
    try await daemon.serve(listener, limits: limits) { connection in try await server.serve(connection) }
  }
}

/// The article's `main.swift`, which is compiled and not called: a test has no main loop that runs.
private func program() async throws {
  exit(try await serveLengths(at: .loopback(port: 8080), on: .main).exitCode)
}

/// The program's state, on the main thread.
@MainActor final class Notes {
  private var texts: [String] = []

  func add(_ text: String) -> Int {
    texts.append(text)
    return texts.count
  }

  func text(_ number: Int) throws -> String {
    guard texts.indices.contains(number - 1) else { throw HTTPError(.notFound) }
    return texts[number - 1]
  }
}

/// Routes of Hummingbird's over the notes.
func makeRouter(of notes: Notes) -> Router<BasicRequestContext> {
  let router = Router()
  router.get("notes/:number") { @MainActor _, context in
    try notes.text(context.parameters.require("number", as: Int.self))
  }
  router.post("notes") { @MainActor request, _ in
    let text = String(buffer: try await request.body.collect(upTo: 4_096))
    return "\(notes.add(text))\n"
  }
  return router
}

/// Serves the routes on the loop, until the daemon stops.
func serve(_ notes: Notes, to listener: Listener, on loop: Loop) async throws -> Daemon.Outcome {
  let server = HTTPServer(responder: makeRouter(of: notes).buildResponder(), logger: logger)
  return try await withDaemon(on: loop, grace: .seconds(10)) { daemon in
    daemon.ready()
    try await daemon.serve(listener) { connection in try await server.serve(connection) }
  }
}

@Suite struct HTTPArticleTests {
  @Test func `a client that does not end its request gets 408, and the server drains`() throws {
    try withSimulation { simulation in
      let server = simulation.host("10.0.0.1")
      let client = simulation.host("10.0.0.2")
      let address = try SocketAddress(parsing: "10.0.0.1:8080")
      let trace = Trace()
      server.start { trace.note("\(try await serveLengths(at: address, on: server.loop))") }
      client.start {
        let connection = try await Connection.connected(to: address, on: client.loop)
        try await connection.write("GET /a HTTP/1.1\r\nHost: a\r\n")
        trace.note(try await connection.readLine() ?? "no answer")
        trace.note("after \(simulation.elapsed.components.seconds) s,")
      }
      simulation.at(.seconds(60)) { server.send(signal: SIGTERM) }
      simulation.run(for: .seconds(120))
      #expect(trace.text == "HTTP/1.1 408 Request Timeout after 10 s, drained")
    }
  }

  @Test func `the server answers with the length of a body, and refuses one over its limit`() throws {
    try withSimulation { simulation in
      let server = simulation.host("10.0.0.1")
      let client = simulation.host("10.0.0.2")
      let address = try SocketAddress(parsing: "10.0.0.1:8080")
      let trace = Trace()
      server.start { _ = try await serveLengths(at: address, on: server.loop) }
      client.start {
        let connection = try await Connection.connected(to: address, on: client.loop)
        try await connection.write("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello")
        while let line = try await connection.readLine(), line != "" {}
        trace.note(try await connection.readLine() ?? "")
        try await connection.write("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 65537\r\n\r\n")
        trace.note(try await connection.readLine() ?? "")
      }
      simulation.run(for: .seconds(120))
      #expect(trace.text == "/a: 5 bytes HTTP/1.1 413 Content Too Large")
    }
  }

  @Test func `the routes keep notes of the main actor, and the daemon drains`() async {
    await #expect(processExitsWith: .success) {
      let outcome = try await withLoopThread(name: "notes") { thread in
        let listener = try Listener(at: .loopback())
        let notes = Notes()
        let serving = Task { try await serve(notes, to: listener, on: thread.loop) }
        let connection = try await Connection.connected(to: listener.address, on: thread.loop)
        try await connection.write("POST /notes HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello")
        try await connection.write("GET /notes/1 HTTP/1.1\r\nHost: a\r\n\r\nGET /notes/2 HTTP/1.1\r\nHost: a\r\n\r\n")
        var text = ""
        while !text.contains("404"), let bytes = try await connection.read() {
          text += String(decoding: bytes, as: UTF8.self)
        }
        precondition(text.contains("\r\n\r\n1\nHTTP/1.1 200 OK\r\n") && text.contains("\r\n\r\nhelloHTTP/1.1 404"))
        kill(getpid(), SIGTERM)
        return try await serving.value
      }
      precondition(outcome == .drained)
    }
  }
}
