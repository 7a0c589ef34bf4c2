import HTTPTypes
import Hummingbird
import RondoHTTP
import RondoTesting
import Testing

/// Which route answers, with what it is given, and what a client sees of errors.
@Suite struct RouteTests {
  private struct Fault: Error {}

  private static var router: Router<BasicRequestContext> {
    let router = Router()
    router.get("users/:id") { _, context in "user \(try context.parameters.require("id", as: Int.self))" }
    router.get("files/**") { request, context in
      "\(context.parameters.getCatchAll().joined(separator: "+")) by \(request.uri.queryParameters["sort"] ?? "nothing")"
    }
    router.group("api").post("items") { _, _ in HTTPResponse.Status.created }
    router.get("busy") { _, _ -> String in throw HTTPError(.serviceUnavailable, headers: [.retryAfter: "7"]) }
    router.get("why") { _, _ -> String in throw HTTPError(.conflict, message: "it is there") }
    router.get("fault") { _, _ -> String in throw Fault() }
    return router
  }

  @Test func `a route is given the parts of the path that it names`() {
    let answers = ask(Self.router, request("GET /users/7"))
    #expect(answers.map(\.description) == ["200 user 7"])
    #expect(answers[0].fields["content-type"] == "text/plain; charset=utf-8")
    #expect(answers[0].fields["date"]?.hasSuffix(" GMT") == true)
  }

  @Test func `a route is given the rest of the path, and the query`() {
    let answers = ask(Self.router, request("GET /files/a/b%20c?sort=size"), request("GET /files/x"))
    #expect(answers.map(\.description) == ["200 a+b%20c by size", "200 x by nothing"])
  }

  @Test func `a part of the path that has not the type of the route is the client's fault`() {
    #expect(ask(Self.router, request("GET /users/seven")).map(\.status) == [400])
  }

  @Test func `a target with a scheme and a host goes to the route of its path`() {
    #expect(ask(Self.router, request("GET http://a/users/8")).map(\.description) == ["200 user 8"])
  }

  @Test func `a path or a method without a route is not found`() {
    let answers = ask(Self.router, request("GET /none"), request("GET /api/items"), request("POST /api/items"))
    #expect(answers.map(\.status) == [404, 404, 201])
  }

  @Test func `an HTTPError gives its status, its fields and its message`() {
    let answers = ask(Self.router, request("GET /busy"), request("GET /why"))
    #expect(answers.map(\.description) == ["503", #"409 {"error":{"message":"it is there"}}"#])
    #expect(answers[0].fields["retry-after"] == "7")
  }

  @Test func `any other error is a 500 without its text, and the connection goes on`() {
    let answers = ask(Self.router, request("GET /fault"), request("GET /users/1"))
    #expect(answers.map(\.description) == ["500", "200 user 1"])
  }

  @Test func `requests that came in one piece are answered in their order, each by its route`() {
    let requests = (1...20).map { request("GET /users/\($0)") }.joined()
    #expect(ask(Self.router, requests).map(\.description) == (1...20).map { "200 user \($0)" })
  }

  @Test func `after a request that ends the connection no route is called`() {
    let answers = ask(Self.router, request("GET /users/1", "Connection: close"), request("GET /users/2"))
    #expect(answers.map(\.description) == ["200 user 1"])
    #expect(answers[0].fields["connection"] == "close")
  }

  @Test func `a malformed request reaches no route`() {
    let trace = Trace()
    let router = Router()
    router.get("**") { _, _ in
      trace.note("called")
      return ""
    }
    #expect(ask(router, "GET / HTTP/1.1\r\n\r\n").map(\.status) == [400])
    #expect(trace.text == "")
  }
}
