#if HTTP
  internal import HTTPTypes
  public import Rondo
  public import RondoSockets

  /// Serves HTTP/1.1 over connections, by SwiftNIO's parser: it calls a handler with each request.
  ///
  /// ```swift
  /// try await listener.serveHTTP(on: loop) { request, response in
  ///   try await response.send("hello from \(request.head.path ?? "/")\n")
  /// }
  /// ```
  ///
  /// Requests of a connection follow each other. A client that breaks a rule or a limit gets a status with a close. One
  /// whose handler throws gets 500, unless the response has begun; then it is cut short, and the client sees that.
  public struct HTTPServer: Sendable {
    private let handler: @Sendable (HTTPServerRequest, HTTPServerResponse) async throws -> Void

    /// Makes a server.
    ///
    /// - Parameter handler: Called with each request. Nonisolated code runs on the loop's thread.
    public init(handler: @escaping @Sendable (HTTPServerRequest, HTTPServerResponse) async throws -> Void) {
      self.handler = handler
    }

    /// Serves the requests of a connection until it ends, and closes it. Any thread.
    ///
    /// When the listener's `serve` drains, it returns between two requests. A client has a second for its last one, and the
    /// answer says that it is. The limits are those of the `serve` that has accepted the connection, and the defaults of
    /// `ServerLimits` for another one.
    ///
    /// - Throws: What a handler threw. What a client does wrong is no error here, nor is the end of its connection.
    public nonisolated(nonsending) func serve(_ connection: Connection) async throws {
      defer { connection.close() }
      let http = try HTTPConnection(over: connection)
      var left = http.server.limits.requests
      var goesOn = true
      while goesOn {
        left = left.map { $0 - 1 }
        let exchange: HTTPExchange
        do {
          guard let found = try await http.nextExchange(isLast: left == 0) else { return }
          exchange = found
        } catch {
          if let limit = error.limit { http.server.count(limit) }
          if case .connection = error { return }
          return await http.refuse(error.status)
        }
        if left == 0 { http.server.count(.requests) }
        do {
          try await handler(HTTPServerRequest(exchange), HTTPServerResponse(exchange))
          goesOn = try await exchange.end()
        } catch {
          await exchange.fail(with: error)
          if (error as? HTTPServerError)?.isClients == true { return }
          throw error
        }
      }
      await http.linger()
    }
  }

  extension Listener {
    /// Serves HTTP to each client in a task on the loop, until cancelled. Any thread.
    ///
    /// Else as `serve(on:)`, with its drain: a request that has begun is answered within `grace`, and the answer says that
    /// it is the last.
    ///
    /// - Parameters:
    ///   - limits: What each client may take of the server.
    ///   - handler: Called with each request. Nonisolated code runs on the loop's thread.
    /// - Throws: As `serve(on:)`.
    public nonisolated(nonsending) func serveHTTP(
      on loop: Loop, limits: ServerLimits = ServerLimits(), grace: Duration = .zero,
      onError: (@Sendable (any Error) -> Void)? = nil,
      handler: @escaping @Sendable (HTTPServerRequest, HTTPServerResponse) async throws -> Void
    ) async throws(ConnectionError) {
      try await serveHTTP(on: loop, HTTPServer(handler: handler), limits: limits, grace: grace, onError: onError)
    }

    /// The same, with a server that you have made.
    public nonisolated(nonsending) func serveHTTP(
      on loop: Loop, _ server: HTTPServer, limits: ServerLimits = ServerLimits(), grace: Duration = .zero,
      onError: (@Sendable (any Error) -> Void)? = nil
    ) async throws(ConnectionError) {
      try await serve(on: loop, limits: limits, grace: grace, onError: onError) { try await server.serve($0) }
    }
  }
#endif
