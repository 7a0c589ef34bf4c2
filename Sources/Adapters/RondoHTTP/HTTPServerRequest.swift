#if HTTP
  public import HTTPTypes
  package import NIOCore
  public import RondoSockets

  /// A request of a client. Use it until its handler returns, from any thread.
  public struct HTTPServerRequest: Sendable {
    private let exchange: HTTPExchange

    init(_ exchange: HTTPExchange) { self.exchange = exchange }

    /// The method, target and fields. The authority is that of the target, or the field `Host`.
    public var head: HTTPRequest { exchange.head.request }

    /// The client's address.
    public var peer: RondoSockets.SocketAddress? { exchange.http.connection.peer }

    /// What SwiftNIO's handlers see of the connection.
    package var channel: any Channel { exchange.http.channel }

    /// The body, as it comes, up to the server's limit.
    public var body: Body { Body(exchange: exchange, limit: exchange.http.server.limits.bodyBytes) }

    /// The body with another limit: for an upload that the handler writes away.
    public func body(upTo limit: Int) -> Body { Body(exchange: exchange, limit: limit) }

    /// The bytes of a request's body. For one task; a client waits while none is asked for.
    public struct Body: AsyncSequence, AsyncIteratorProtocol, Sendable {
      fileprivate let exchange: HTTPExchange
      /// The most bytes of the whole body.
      public let limit: Int

      /// Returns an iterator. A second one goes on where the first one is.
      public func makeAsyncIterator() -> Self { self }

      /// Waits for the next bytes; nil at the end of the body. Stays on the caller's actor.
      ///
      /// A client that waits for `100 Continue` gets it with the first call.
      ///
      /// - Throws: `.bodyTooLarge`, `.timedOut`, `.malformed`, `.endedEarly`, `.over`, `.connection`.
      public func next(isolation actor: isolated (any Actor)?) async throws(HTTPServerError) -> [UInt8]? {
        try await nextPiece().map { Array($0.readableBytesView) }
      }

      package nonisolated(nonsending) func nextPiece() async throws(HTTPServerError) -> ByteBuffer? {
        try await exchange.nextPiece(limit: limit)
      }

      /// Waits for the whole body. Any thread.
      ///
      /// - Throws: As ``next(isolation:)``.
      public nonisolated(nonsending) func collect() async throws(HTTPServerError) -> [UInt8] {
        var bytes: [UInt8] = []
        while let piece = try await nextPiece() { bytes += piece.readableBytesView }
        return bytes
      }

      /// The fields after a body in chunks; nil before its end, and without any.
      public var trailers: HTTPFields? { exchange.trailers }
    }
  }
#endif
