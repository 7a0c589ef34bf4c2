import Hummingbird
import Logging
import RondoTesting
import Testing

/// What a route learns from its context, and the log of a request.
@Suite struct ContextTests {
  /// A context with what middleware has found.
  private struct Visit: RequestContext {
    var coreContext: CoreRequestContextStorage
    var guest = "nobody"
    var maxUploadSize: Int { 8 }

    init(source: Source) { coreContext = .init(source: source) }
  }

  private struct Naming: RouterMiddleware {
    typealias Context = Visit

    func handle(
      _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
      var context = context
      context.guest = request.uri.queryParameters["guest"].map(String.init) ?? context.guest
      return try await next(request, context)
    }
  }

  @Test func `each request has an id of its own`() {
    let router = Router()
    router.get("/") { _, context in context.id }
    let answers = ask(router, request("GET /"), request("GET /"))
    #expect(answers.map(\.status) == [200, 200])
    #expect(!answers[0].body.isEmpty && answers[0].body != answers[1].body)
  }

  @Test func `the context's logger and the task's have the request's id`() {
    let trace = Trace()
    let router = Router()
    router.get("/") { _, context in
      context.logger.info("context")
      Logger.current.info("task")
      return context.id
    }
    let answers = ask(router, request("GET /"), logger: Logger(label: "test") { _ in TracingLogHandler(trace: trace) })
    #expect(trace.tokens == ["context \(answers[0].body)", "task \(answers[0].body)"])
  }

  @Test func `code that a route awaits has the task's logger`() {
    let trace = Trace()
    let router = Router()
    router.get("/") { _, context in
      async let one: Void = note("one")
      await note("two")
      await one
      return context.id
    }
    let answers = ask(router, request("GET /"), logger: Logger(label: "test") { _ in TracingLogHandler(trace: trace) })
    #expect(trace.tokens.sorted() == ["one \(answers[0].body)", "two \(answers[0].body)"])
  }

  @Test func `an error that is no HTTPError is logged with the request's id`() {
    struct Fault: Error {}
    let trace = Trace()
    let router = Router()
    router.get("/") { _, context -> String in
      trace.note(context.id)
      throw Fault()
    }
    let answers = ask(router, request("GET /"), logger: Logger(label: "test") { _ in TracingLogHandler(trace: trace) })
    #expect(answers.map(\.status) == [500])
    #expect(trace.tokens.count == 2 && trace.tokens[1] == "Unrecognised Error \(trace.tokens[0])")
  }

  @Test func `a context of one's own has what middleware put there, for its request alone`() {
    let router = Router(context: Visit.self)
    router.add(middleware: Naming())
    router.get("/") { _, context in context.guest }
    let answers = ask(router, request("GET /?guest=ada"), request("GET /"))
    #expect(answers.map(\.description) == ["200 ada", "200 nobody"])
  }

  @Test func `a context of one's own limits what is decoded`() {
    let router = Router(context: Visit.self)
    router.post("/") { request, context in "\(try await request.decode(as: [Int].self, context: context).count)" }
    let answers = ask(
      router, request("POST /", "Content-Type: application/json", body: "[1,2]"),
      request("POST /", "Content-Type: application/json", body: "[1,2,3,4,5]"))
    #expect(answers.map(\.description) == ["200 2", "413"])
  }
}

private func note(_ text: String) async { Logger.current.info("\(text)") }
