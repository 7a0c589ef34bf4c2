import Hummingbird
import NIOCore
import Rondo
import RondoHTTP
import RondoHummingbird
import RondoSockets
import RondoTesting
import Testing

/// Where and when routes run: the loop of the connection, its time, its drain.
@Suite struct LoopTests {
  /// Serves routes until 10 s; what clients that asked for a path each note, with the seconds.
  private func drain(grace: Duration, _ paths: String..., router: (Loop, Trace) -> Router<BasicRequestContext>) -> Trace
  {
    let trace = Trace()
    withSimulation { simulation in
      let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let (serverLoop, clientLoop) = (server.loop, client.loop)
      let responder = router(serverLoop, trace).buildResponder()
      let serving = server.start {
        try await Listener(at: address).serveHTTP(
          on: serverLoop, HTTPServer(responder: responder, logger: silent), grace: grace)
        trace.note("ended@\(simulation.elapsed.components.seconds)")
      }
      for path in paths {
        client.start {
          let connection = try await Connection.connected(to: address, on: clientLoop)
          try await connection.write(request("GET /\(path)"))
          var text = ""
          do {
            while let bytes = try await connection.read() { text += String(decoding: bytes, as: UTF8.self) }
          } catch {
            text = "\(error)"
          }
          trace.note("\(path)=\(Answer.all(in: text))@\(simulation.elapsed.components.seconds)")
        }
      }
      simulation.at(.seconds(10)) { serving.cancel() }
      simulation.run(for: .seconds(100))
      #expect(server.openDescriptorCount == 0)
    }
    return trace
  }

  private static func sleeping(_ loop: Loop, _ trace: Trace) -> Router<BasicRequestContext> {
    let router = Router()
    router.get("now") { _, _ in "now" }
    router.get("sleep") { _, _ in
      do {
        try await loop.clock.sleep(for: .seconds(15))
      } catch {
        trace.note("\(error)")
        throw error
      }
      return "slept"
    }
    return router
  }

  @Test func `routes and middleware run on the loop of the connection`() {
    let trace = Trace()
    withSimulation { simulation in
      let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let (serverLoop, clientLoop) = (server.loop, client.loop)
      let router = Router()
      router.add(middleware: Placed(loop: serverLoop, trace: trace))
      router.post("/") { request, _ in
        trace.note("route \(serverLoop.isCurrent)")
        for try await _ in request.body { trace.note("body \(serverLoop.isCurrent)") }
        try await serverLoop.clock.sleep(for: .seconds(1))
        trace.note("after \(serverLoop.isCurrent)")
        return Response(
          status: .ok,
          body: ResponseBody { writer in
            trace.note("writer \(serverLoop.isCurrent)")
            try await writer.finish(nil)
          })
      }
      let responder = router.buildResponder()
      server.start {
        try await Listener(at: address).serveHTTP(on: serverLoop, HTTPServer(responder: responder, logger: silent))
      }
      client.start {
        let connection = try await Connection.connected(to: address, on: clientLoop)
        try await connection.write(request("POST /", body: "x"))
        _ = try await connection.readLine()
      }
      simulation.run(for: .seconds(60))
    }
    #expect(trace.tokens == ["middleware", "route", "body", "after", "middleware", "writer"].map { "\($0) true" })
  }

  @Test func `a route sleeps for days in the loop's time, and others are served meanwhile`() {
    let trace = Trace()
    withSimulation { simulation in
      let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let (serverLoop, clientLoop) = (server.loop, client.loop)
      let router = Router()
      router.get("wait/:hours") { _, context in
        let hours = try context.parameters.require("hours", as: Int.self)
        try await serverLoop.clock.sleep(for: .seconds(hours * 3_600))
        return "x"
      }
      let responder = router.buildResponder()
      server.start {
        try await Listener(at: address).serveHTTP(on: serverLoop, HTTPServer(responder: responder, logger: silent))
      }
      for hours in [72, 1, 0] {
        client.start {
          let connection = try await Connection.connected(to: address, on: clientLoop)
          try await connection.write(request("GET /wait/\(hours)"))
          trace.note("\(try await connection.readLine() ?? "")@\(simulation.elapsed.components.seconds / 3_600)")
        }
      }
      simulation.run(for: .seconds(100 * 3_600))
    }
    #expect(trace.tokens == ["HTTP/1.1 200 OK@0", "HTTP/1.1 200 OK@1", "HTTP/1.1 200 OK@72"])
  }

  @Test func `in a drain, a route under way answers, and the connection ends`() {
    let trace = drain(grace: .seconds(30), "now", "sleep", router: Self.sleeping)
    // A kept connection has a second for one more request. The last response is followed by the client's end.
    #expect(trace.tokens == ["now=[200 now]@11", "sleep=[200 slept]@15", "ended@15"])
  }

  @Test func `a route that outlives the grace is cancelled`() {
    let trace = drain(grace: .seconds(3), "sleep", router: Self.sleeping)
    #expect(trace.tokens.first == "CancellationError()")
    #expect(trace.tokens.contains("ended@13"))
    #expect(!trace.text.contains("slept"))
  }

  @Test func `without a grace the server's end cancels routes`() {
    let trace = drain(grace: .zero, "sleep", router: Self.sleeping)
    #expect(trace.tokens.first == "CancellationError()")
    #expect(trace.tokens.contains("ended@10"))
  }

  @Test func `a client that goes away ends a stream at the next write`() {
    let trace = Trace()
    withSimulation { simulation in
      let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let (serverLoop, clientLoop) = (server.loop, client.loop)
      let router = Router()
      router.get("/") { _, _ in
        Response(
          status: .ok,
          body: ResponseBody { writer in
            defer { trace.note("over@\(simulation.elapsed.components.seconds)") }
            while true {
              try await writer.write(ByteBuffer(string: "tick"))
              try await serverLoop.clock.sleep(for: .seconds(1))
            }
          })
      }
      let responder = router.buildResponder()
      server.start {
        try await Listener(at: address).serveHTTP(on: serverLoop, HTTPServer(responder: responder, logger: silent))
      }
      client.start {
        let connection = try await Connection.connected(to: address, on: clientLoop)
        try await connection.write(request("GET /"))
        try await clientLoop.clock.sleep(for: .milliseconds(5_500))
        connection.close()
      }
      simulation.run(for: .seconds(60))
      #expect(server.openDescriptorCount == 1)
    }
    #expect(trace.tokens.count == 1 && ["over@6", "over@7"].contains(trace.text))
  }

  @Test func `a route of the main actor is reached from a loop of another thread, and comes back`() async throws {
    try await withLoopThread(name: "routes") { thread in
      let loop = thread.loop
      let visits = Visits()
      let router = Router()
      router.get("main") { @MainActor _, _ in
        visits.count += 1
        return "\(visits.count) \(loop.isCurrent)"
      }
      router.get("loop") { _, _ in "\(await visits.next()) \(loop.isCurrent)" }
      let server = HTTPServer(responder: router.buildResponder(), logger: silent)
      let (near, far) = try Connection.pair(on: loop)
      let serving = Task(executorPreference: loop) { try await server.serve(near) }
      try await far.write(request("GET /main") + request("GET /loop") + request("GET /main"))
      try await far.finishWriting()
      var text = ""
      while let bytes = try await far.read() { text += String(decoding: bytes, as: UTF8.self) }
      #expect(Answer.all(in: text).map(\.description) == ["200 1 false", "200 2 true", "200 3 false"])
      try await serving.value
    }
  }

  private struct Placed: RouterMiddleware {
    typealias Context = BasicRequestContext
    let loop: Loop
    let trace: Trace

    func handle(
      _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
      trace.note("middleware \(loop.isCurrent)")
      defer { trace.note("middleware \(loop.isCurrent)") }
      return try await next(request, context)
    }
  }
}

/// State of the main actor.
@MainActor private final class Visits {
  var count = 0

  func next() -> Int {
    count += 1
    return count
  }
}
