import HTTPTypes
import Hummingbird
import NIOCore
import RondoTesting
import Testing

/// Middleware between the server and a route.
@Suite struct MiddlewareTests {
  private struct Noting: RouterMiddleware {
    typealias Context = BasicRequestContext
    let name: String
    let trace: Trace

    func handle(
      _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
      trace.note("\(name)>")
      defer { trace.note("<\(name)") }
      return try await next(request, context)
    }
  }

  private struct Refusing: RouterMiddleware {
    typealias Context = BasicRequestContext

    func handle(
      _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
      guard request.headers[.authorization] == "open" else { throw HTTPError(.unauthorized) }
      return try await next(request, context)
    }
  }

  private struct Shouting: RouterMiddleware {
    typealias Context = BasicRequestContext

    func handle(
      _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
      var response = try await next(request, context)
      response.headers[.cacheControl] = "no-store"
      response.body = response.body.map { ByteBuffer(string: String(buffer: $0).uppercased()) }
      return response
    }
  }

  private struct Mending: RouterMiddleware {
    typealias Context = BasicRequestContext

    func handle(
      _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
      do { return try await next(request, context) } catch let error as HTTPError where error.status == .gone {
        return Response(status: .found, headers: [.location: "/new"])
      }
    }
  }

  @Test func `the first middleware is the outermost`() {
    let trace = Trace()
    let router = Router()
    router.add(middleware: Noting(name: "a", trace: trace))
    router.add(middleware: Noting(name: "b", trace: trace))
    router.get("/") { _, _ in
      trace.note("route")
      return "x"
    }
    #expect(ask(router, request("GET /")).map(\.description) == ["200 x"])
    #expect(trace.text == "a> b> route <b <a")
  }

  @Test func `middleware that throws answers, and its route is not called`() {
    let trace = Trace()
    let router = Router()
    router.add(middleware: Noting(name: "a", trace: trace))
    router.add(middleware: Refusing())
    router.get("/") { _, _ in
      trace.note("route")
      return "x"
    }
    let answers = ask(router, request("GET /"), request("GET /", "Authorization: open"))
    #expect(answers.map(\.description) == ["401", "200 x"])
    #expect(trace.text == "a> <a a> route <a")
  }

  @Test func `middleware changes a response, whose body then has no known length`() {
    let router = Router()
    router.add(middleware: Shouting())
    router.get("/") { _, _ in "hello" }
    let answers = ask(router, request("GET /"), request("GET /"))
    #expect(answers.map(\.description) == ["200 HELLO", "200 HELLO"])
    #expect(answers[0].fields["cache-control"] == "no-store")
    #expect(answers[0].fields["transfer-encoding"] == "chunked" && answers[0].fields["content-length"] == nil)
  }

  @Test func `middleware catches the error of a route`() {
    let router = Router()
    router.add(middleware: Mending())
    router.get("/old") { _, _ -> String in throw HTTPError(.gone) }
    let answers = ask(router, request("GET /old"))
    #expect(answers.map(\.status) == [302] && answers.first?.fields["location"] == "/new")
  }

  @Test func `middleware sees paths without a route, too`() {
    let trace = Trace()
    let router = Router()
    router.add(middleware: Noting(name: "a", trace: trace))
    #expect(ask(router, request("GET /none")).map(\.status) == [404])
    #expect(trace.text == "a> <a")
  }
}
