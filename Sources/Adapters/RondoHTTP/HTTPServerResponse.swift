#if HTTP
  public import HTTPTypes
  public import RondoSockets

  /// The response to a request: sent whole, streamed, or an upgrade. Use it until its handler returns, from any thread.
  ///
  /// The server adds `Date`, and says how the body is framed and whether the connection goes on. A response to HEAD is
  /// made as one to GET; its body is left out. Each call suspends while the client has no room.
  public struct HTTPServerResponse: Sendable {
    private let exchange: HTTPExchange

    init(_ exchange: HTTPExchange) { self.exchange = exchange }

    /// Sends a whole response.
    ///
    /// - Throws: `.over` if a response was begun already; `.connection`.
    public nonisolated(nonsending) func send(
      _ head: HTTPResponse, body: [UInt8] = []
    ) async throws(HTTPServerError) {
      try await exchange.send(head, body)
    }

    /// Sends a whole response: a text in UTF-8.
    ///
    /// - Parameter type: The field `Content-Type`.
    /// - Throws: As ``send(_:body:)``.
    public nonisolated(nonsending) func send(
      _ text: String, status: HTTPResponse.Status = .ok, type: String = "text/plain; charset=utf-8"
    ) async throws(HTTPServerError) {
      let head = HTTPResponse(status: status, headerFields: [.contentType: type])
      try await exchange.send(head, Array(text.utf8))
    }

    /// Sends the head of a response, whose body follows.
    ///
    /// Send the body by ``write(_:)``, and end it by ``finish(trailers:)``. With a field `Content-Length` it has that
    /// length. Otherwise it is sent in chunks, and to a client of HTTP/1.0 until the close.
    ///
    /// - Throws: As ``send(_:body:)``.
    public nonisolated(nonsending) func start(_ head: HTTPResponse) async throws(HTTPServerError) {
      try await exchange.start(head)
    }

    /// Sends a part of the body.
    ///
    /// - Throws: `.wrongLength` if it is more than `Content-Length`; `.over` without ``start(_:)``; `.connection`.
    public nonisolated(nonsending) func write(_ bytes: [UInt8]) async throws(HTTPServerError) {
      try await exchange.write(bytes)
    }

    /// Ends the body. A handler that returns without it has ended it, too.
    ///
    /// - Parameter trailers: Fields after a body in chunks.
    /// - Throws: `.wrongLength` if it is less than `Content-Length`; else as ``write(_:)``.
    public nonisolated(nonsending) func finish(trailers: HTTPFields? = nil) async throws(HTTPServerError) {
      try await exchange.finish(trailers)
    }

    /// Answers `101 Switching Protocols`, and hands the connection over to the handler.
    ///
    /// It closes when the handler returns. The request's body is read first, and left out. What the client has sent
    /// after it is the first that you read.
    ///
    /// - Parameter fields: `Upgrade`, and what the protocol wants.
    /// - Throws: `.refused(.upgradeRequired)` if the client has not asked for one; as ``send(_:body:)``, and as the
    ///   body's `next()`.
    public nonisolated(nonsending) func upgrade(_ fields: HTTPFields) async throws(HTTPServerError) -> Connection {
      try await exchange.upgrade(fields)
    }
  }
#endif
