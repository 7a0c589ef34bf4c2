import Hummingbird
import Rondo
import RondoHTTP
import RondoHummingbird
import RondoSockets
import RondoTesting
import Testing

/// Middleware that gives each request two seconds, by tasks and clocks of the standard library alone.
private struct TimeLimit<Context: RequestContext>: RouterMiddleware {
  func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    try await withoutActuallyEscaping(next) { next in
      nonisolated(unsafe) let next = next
      return try await withThrowingTaskGroup(of: Response.self) { group in
        group.addTask { try await next(request, context) }
        group.addTask {
          try await Task.sleep(for: .seconds(2))
          throw HTTPError(.gatewayTimeout)
        }
        defer { group.cancelAll() }
        return try await group.next()!
      }
    }
  }
}

/// What is written for any server, in virtual time: its tasks name no loop, and sleep by the runtime's clocks.
@Suite struct TimeoutTests {
  private static var router: Router<BasicRequestContext> {
    let router = Router()
    router.add(middleware: TimeLimit())
    router.get("sleep/:seconds") { _, context in
      let seconds = try context.parameters.require("seconds", as: Int.self)
      // A task of its own, as a handler may begin one.
      let task = Task {
        try await ContinuousClock().sleep(for: .seconds(seconds))
        return "slept \(seconds)"
      }
      return try await withTaskCancellationHandler {
        try await task.value
      } onCancel: {
        task.cancel()
      }
    }
    return router
  }

  private static func isWhole(_ text: String) -> Bool {
    guard text.contains("\r\n\r\n"), let answer = Answer.all(in: text).last else { return false }
    return answer.status != 200 || !answer.body.isEmpty
  }

  @Test(.seeds(100)) func `a handler that sleeps is answered when it wakes, or when its time is over`() {
    withSimulation { simulation in
      let server = simulation.host("10.0.0.1")
      let responder = Self.router.buildResponder()
      server.start {
        try await Listener(at: address).serveHTTP(on: .main, HTTPServer(responder: responder, logger: silent))
      }
      let traces = (0..<3).map { _ in Trace() }
      for (number, trace) in traces.enumerated() {
        let client = simulation.host("10.0.0.\(number + 2)")
        let seconds = (0..<3).map { _ in simulation.choose(among: 6) }
        client.start {
          let connection = try await Connection.connected(to: address, on: .main)
          for second in seconds {
            let start = simulation.elapsed
            try await connection.write(request("GET /sleep/\(second)"))
            var text = ""
            while !Self.isWhole(text), let bytes = try await connection.read() {
              text += String(decoding: bytes, as: UTF8.self)
            }
            let answer = Answer.all(in: text).last!
            let took = (simulation.elapsed - start).components.seconds
            // At two seconds either may be first.
            let expected = second < 2 ? [200] : second == 2 ? [200, 504] : [504]
            trace.note(expected.contains(answer.status) && took == min(second, 2) ? "right" : "\(answer) \(took)")
          }
        }
      }
      simulation.run(for: .seconds(60))
      for trace in traces { #expect(trace.text == "right right right") }
    }
  }
}
