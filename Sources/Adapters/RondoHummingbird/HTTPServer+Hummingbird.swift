#if Hummingbird
  public import Hummingbird
  internal import HTTPTypes
  public import Logging
  internal import NIOCore
  public import RondoHTTP

  extension RondoHTTP.HTTPServer {
    /// Makes a server of Hummingbird's routes and middleware.
    ///
    /// Routes run on the loop of the connection, in its time. Use `@MainActor` routes on the main loop for state of the
    /// main actor. An error that a route throws gets the status that Hummingbird gives it, or 500. A route reads no longer
    /// body than `ServerLimits.bodyBytes`.
    ///
    /// ```swift
    /// let router = Router()
    /// router.get("hello/:name") { _, context in "hello \(try context.parameters.require("name"))\n" }
    /// try await listener.serveHTTP(on: loop, HTTPServer(responder: router.buildResponder(), logger: logger))
    /// ```
    ///
    /// - Parameters:
    ///   - responder: A router's `buildResponder()`, or a responder of your own.
    ///   - logger: Each request has it with an `hb.request.id`.
    public init<Responder: HTTPResponder>(
      responder: Responder, logger: Logger
    ) where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
      self.init { request, response in
        var logger = logger
        logger[metadataKey: "hb.request.id"] = .stringConvertible(RequestID())
        let answer = try await withLogger(logger) { logger in
          let context = Responder.Context(source: .init(channel: request.channel, logger: logger))
          do {
            return try await responder.respond(to: Hummingbird.Request(request), context: context)
          } catch let error as HTTPServerError {
            // The client's fault, and RondoHTTP's status.
            throw error
          } catch {
            logger.debug("Unrecognised Error", metadata: ["error.type": "\(error)"])
            return Response(status: .internalServerError)
          }
        }
        try await answer.body.write(LoopBodyWriter(answer, response, isHead: request.head.method == .head))
      }
    }
  }

  extension Hummingbird.Request {
    fileprivate init(_ request: HTTPServerRequest) {
      let fields = request.head.headerFields
      // A body that is not there costs no sequence.
      let isEmpty = fields[.transferEncoding] == nil && (fields[.contentLength] ?? "0") == "0"
      self.init(
        head: request.head,
        body: isEmpty ? RequestBody(buffer: ByteBuffer()) : RequestBody(asyncSequence: BodyPieces(body: request.body)))
    }
  }

  /// The body of a request as Hummingbird takes it.
  private struct BodyPieces: AsyncSequence, AsyncIteratorProtocol, Sendable {
    let body: HTTPServerRequest.Body

    func makeAsyncIterator() -> Self { self }

    func next(isolation actor: isolated (any Actor)?) async throws(HTTPServerError) -> ByteBuffer? {
      try await body.nextPiece()
    }

    func next() async throws(HTTPServerError) -> ByteBuffer? { try await body.nextPiece() }
  }

  /// Sends what a response of Hummingbird's writes: whole, if its body is one piece of a known length.
  private struct LoopBodyWriter: ResponseBodyWriter {
    private let response: HTTPServerResponse
    private let length: Int?
    private let isHead: Bool
    /// Nil once it was sent.
    private var head: HTTPResponse?
    private var piece: ByteBuffer?

    init(_ answer: Response, _ response: HTTPServerResponse, isHead: Bool) {
      self.response = response
      self.isHead = isHead
      length = answer.body.contentLength
      head = answer.head
    }

    mutating func write(_ buffer: ByteBuffer) async throws {
      if let head {
        if buffer.readableBytes == length, piece == nil {
          piece = buffer
          return
        }
        self.head = nil
        try await response.start(head)
        if let first = piece.take() { try await response.write(Array(first.readableBytesView)) }
      }
      try await response.write(Array(buffer.readableBytesView))
    }

    consuming func finish(_ trailers: HTTPFields?) async throws {
      guard let head else { return try await response.finish(trailers: trailers) }
      if isHead, head.headerFields[.contentLength] != nil {
        // A route of HEAD leaves the body out, and gives the length of the one that GET has.
        try await response.start(head)
        return try await response.finish()
      }
      if length == nil || trailers != nil {
        try await response.start(head)
        if let piece { try await response.write(Array(piece.readableBytesView)) }
        return try await response.finish(trailers: trailers)
      }
      try await response.send(head, body: piece.map { Array($0.readableBytesView) } ?? [])
    }
  }
#endif
