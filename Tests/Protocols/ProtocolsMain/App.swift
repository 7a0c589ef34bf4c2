// A server on the main loop whose handler and routes are the main actor's, for a test that reads what it prints.

import Glibc
import Hummingbird
import Logging
import Rondo
import RondoHTTP
import RondoHummingbird
import RondoMain
import RondoSockets

/// What handlers and routes share.
@MainActor final class Page {
  var visits = 0
  /// The thread that `main` began on.
  nonisolated let thread = pthread_self()

  /// Counts a visit, and says where it was served.
  func visit(_ name: String) -> String {
    visits += 1
    note("\(name) \(visits)")
    return "\(visits)\n"
  }

  nonisolated func note(_ name: String) {
    print("\(name): main loop \(Loop.current === Loop.main), main thread \(pthread_equal(pthread_self(), thread) != 0)")
  }
}

struct Placed: RouterMiddleware {
  typealias Context = BasicRequestContext
  let page: Page

  func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    if request.uri.path == "/3" { page.note("middleware") }
    return try await next(request, context)
  }
}

@main struct App {
  @MainActor static func main() async throws {
    // One that waits for ever has failed.
    alarm(300)
    let page = Page()
    let plain = HTTPServer { @MainActor _, response in try await response.send(page.visit("handler")) }
    let router = Router()
    router.add(middleware: Placed(page: page))
    router.get(":number") { @MainActor _, _ in page.visit("route") }
    let routes = HTTPServer(
      responder: router.buildResponder(), logger: Logger(label: "silent", factory: { _ in SwiftLogNoOpLogHandler() }))

    let statuses = try await ask(plain, ["/1", "/2"]) + ask(routes, ["/3", "/4"])
    print(statuses.joined(separator: " "))
  }

  /// Serves on the main loop, and asks over a connection of TCP; the statuses.
  @MainActor static func ask(_ server: HTTPServer, _ paths: [String]) async throws -> [String] {
    let listener = try Listener(at: .loopback())
    let serving = Task(executorPreference: Loop.main) { try await listener.serveHTTP(on: .main, server) }
    let connection = try await Connection.connected(to: listener.address, on: .main)
    var statuses: [String] = []
    for path in paths {
      try await connection.write("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n")
      guard let line = try await connection.readLine() else { break }
      statuses.append(String(line.split(separator: " ")[1]))
      while let field = try await connection.readLine(), field != "" {}
      _ = try await connection.readLine()
    }
    connection.close()
    serving.cancel()
    _ = await serving.result
    return statuses
  }
}
