#if HTTP
  internal import HTTPTypes
  internal import NIOCore
  internal import NIOHTTP1
  internal import Rondo
  internal import RondoNIO
  internal import RondoSockets

  /// A client's connection: requests by SwiftNIO's parser, one after the other.
  ///
  /// The parser is given one request at a time, and no byte of the next one. So a request cannot be taken for two, and
  /// what follows an upgrade is still in the connection. One task at a time reads: the server's between requests, and
  /// the handler's within one.
  final class HTTPConnection: Sendable {
    let connection: Connection
    let server: ServerRecord
    let date: HTTPDate
    private let isSecure: Bool
    /// The parser's surroundings.
    private let core: PipelineChannel
    /// *its own lock* What the parser has made of the bytes.
    @safe private nonisolated(unsafe) let parts: ParsedParts
    /// Where the present request's body ends, and how many bytes of it are more than chunks need.
    /// *its own lock*
    @safe @exclusivity(unchecked) private nonisolated(unsafe) var body = (scan: BodyScan.none, excess: 0)
    private let lock = Lock()
    /// *constant* When no task waits any longer, if the program has set that.
    private let deadline: SuspendingClock.Instant?

    init(over connection: Connection) throws(HTTPServerError) {
      self.connection = connection
      server = connection.server
      date = .of(connection.loop)
      isSecure = connection.isSecured
      deadline = connection.deadline
      // For trailers: the head is counted before the parser has it.
      var most = NIOHTTPDecoderLimitConfiguration()
      most.maxHeaderListSize = server.limits.headBytes
      core = PipelineChannel(on: connection.loop, bufferLimit: .max, for: connection)
      let (core, parts) = (core, ParsedParts())
      self.parts = parts
      let parser = ByteToMessageHandler(HTTPRequestDecoder(limitConfiguration: most))
      let begun = core.attend {
        Result {
          try core.pipeline.syncOperations.addHandlers([parser, parts])
          core.begin()
        }
      }
      if case .failure(let error) = begun { throw HTTPServerError(parsing: error) }
    }

    deinit { core.attend { core.detach() } }

    var channel: any Channel { core }

    // MARK: - Reading

    /// Waits for the next request.
    ///
    /// - Parameter isLast: Whether no other request can follow.
    /// - Returns: Nil if the client has ended, or the server drains.
    nonisolated(nonsending) func nextExchange(isLast: Bool) async throws(HTTPServerError) -> HTTPExchange? {
      if try takeReady() != nil { throw .malformed("bytes after a request's end") }
      var scan = HeadScan(limit: server.limits.headBytes)
      var end: End?
      while true {
        if scan.isBlank {
          do { if try await !connection.awaitRequest(toLast: true) { return nil } } catch { throw .connection(error) }
        } else if end == nil {
          end = self.end(of: .headTime, after: server.limits.headTime)
        }
        guard try await receive(until: end, { scan.take($0) }) else {
          if scan.isBlank { return nil }
          throw .endedEarly
        }
        if case .head(let head)? = try takeReady() {
          let request = try RequestHead(head, line: scan.line, isSecure: isSecure)
          withBody { $0 = (request.contentLength.map { .length($0) } ?? .blankLine(matched: 0), 0) }
          server.countRequest()
          return HTTPExchange(request, isLast: isLast, on: self)
        }
        if let failure = scan.failure { throw failure }
      }
    }

    /// Waits for the next part of a body.
    nonisolated(nonsending) func nextPart(
      until end: End?
    ) async throws(HTTPServerError) -> HTTPServerRequestPart {
      while true {
        if let part = try takeReady() {
          // A chunk of one byte takes six.
          if case .body(let piece) = part { withBody { $0.excess -= 8 * piece.readableBytes } }
          return part
        }
        if withBody({ $0.excess }) > server.limits.headBytes { throw .refused(.requestHeaderFieldsTooLarge) }
        let hasMore = try await receive(until: end) { bytes in
          withBody { body in
            let count = body.scan.take(bytes)
            body.excess += count
            return count
          }
        }
        if !hasMore { throw .endedEarly }
      }
    }

    private func withBody<Answer>(_ use: (inout (scan: BodyScan, excess: Int)) -> Answer) -> Answer {
      lock.lock()
      defer { lock.unlock() }
      return use(&body)
    }

    /// When no task waits for a request any longer.
    struct End {
      fileprivate let date: SuspendingClock.Instant
      /// Nil if the program's own limit comes first.
      fileprivate let limit: ServerLimit?
    }

    /// When a time that begins now has passed, or the program's own limit; nil for any time.
    func end(of limit: ServerLimit? = nil, after time: Duration?) -> End? {
      guard let time else { return nil }
      let end = connection.loop.clock.now.advanced(by: time)
      if let deadline, deadline <= end { return End(date: deadline, limit: nil) }
      return End(date: end, limit: limit)
    }

    private func takeReady() throws(HTTPServerError) -> HTTPServerRequestPart? {
      try parts.take()
    }

    /// Gives the parser as many bytes as `measure` says.
    ///
    /// - Returns: False if the client has ended.
    private nonisolated(nonsending) func receive(
      until end: End?, _ measure: (ArraySlice<UInt8>) -> Int
    ) async throws(HTTPServerError) -> Bool {
      if let end { connection.setDeadline(end.date, of: end.limit) }
      defer { if end != nil { connection.deadline = deadline } }
      let bytes: [UInt8]?
      do { bytes = try await connection.readMeasured(by: measure) } catch { throw HTTPServerError(error) }
      guard let bytes else { return false }
      if !bytes.isEmpty { core.attendReceiving(ByteBuffer(bytes: bytes)) }
      return true
    }

    // MARK: - Ends

    /// Answers a client with a status, and nothing more.
    nonisolated(nonsending) func refuse(_ status: HTTPResponse.Status) async {
      let response = ResponseHead.refusal(status, date: date.line(on: connection.loop))
      guard (try? await connection.write(response)) != nil else { return }
      await linger()
    }

    /// Ends the connection so that the client reads its last response: what it still sends would reset it.
    nonisolated(nonsending) func linger() async {
      connection.deadline = end(after: .seconds(1))?.date
      try? await connection.finishWriting()
      var left = server.limits.unreadBytes
      while left > 0, let bytes = try? await connection.read() { left -= bytes.count }
    }
  }

  /// The last handler: it keeps what the parser makes of bytes, for the task that gave them.
  private final class ParsedParts: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart

    // Two tasks may read a body, wrongly.
    private let lock = Lock()
    private var parts = CircularBuffer<HTTPServerRequestPart>()
    private var failure: HTTPServerError?

    func take() throws(HTTPServerError) -> HTTPServerRequestPart? {
      lock.lock()
      defer { lock.unlock() }
      if let part = parts.popFirst() { return part }
      if let failure { throw failure }
      return nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let part = unwrapInboundIn(data)
      lock.lock()
      parts.append(part)
      lock.unlock()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      let error = HTTPServerError(parsing: error)
      lock.withLock { failure = failure ?? error }
    }
  }
#endif
