#if HTTP
  internal import HTTPTypes
  internal import NIOCore
  internal import NIOHTTP1
  internal import Rondo
  internal import RondoSockets

  /// A request and its response. The handler's tasks use it; the server's task ends it.
  final class HTTPExchange: @unchecked Sendable {
    // Unchecked because of the state under the lock.

    let http: HTTPConnection
    let head: RequestHead
    private let lock = Lock()
    /// *its own lock*
    @safe @exclusivity(unchecked) private var state: State

    private struct State {
      /// Whether there is more of the request's body, and whether the client waits to be asked for it.
      var hasBody = true
      var asksToContinue: Bool
      var received = 0
      /// When the body has to be there; from the first wait for it.
      var bodyEnd: HTTPConnection.End?
      /// Whether the body has met a limit of bytes, and that is counted.
      var isCounted = false
      var trailers: HTTPFields?
      var response = Response.none
      /// Whether another request can follow.
      var mayKeep: Bool
      /// Whether the handler has returned.
      var isOver = false
    }

    private enum Response {
      case none
      case begun(ResponseHead, sent: Int, length: Int?)
      case done
      /// The connection is another protocol's.
      case handedOver
    }

    init(_ head: RequestHead, isLast: Bool, on http: HTTPConnection) {
      self.head = head
      self.http = http
      state = State(asksToContinue: head.expectsContinue, mayKeep: head.isKeptAlive && !head.isLast && !isLast)
    }

    /// Private, and so made for each use: a generic function of another module looks up types in each call.
    private func withState<Answer, Failure: Error>(
      _ body: (inout State) throws(Failure) -> Answer
    ) throws(Failure) -> Answer {
      lock.lock()
      defer { lock.unlock() }
      return try body(&state)
    }

    /// - Parameter isOver: Whether the server calls, after the handler has returned.
    private func change<Answer>(
      whenOver isOver: Bool = false, _ body: (inout State) throws(HTTPServerError) -> Answer
    ) throws(HTTPServerError) -> Answer {
      try withState { state throws(HTTPServerError) in
        if state.isOver != isOver { throw .over }
        return try body(&state)
      }
    }

    private nonisolated(nonsending) func send(
      _ bytes: [UInt8], _ body: [UInt8] = [], _ end: String = ""
    ) async throws(HTTPServerError) {
      do {
        if body.isEmpty { return try await http.connection.write(bytes) }
        try await http.connection.write { writer in
          writer.append(bytes)
          writer.append(body)
          writer.append(end)
        }
      } catch {
        // The next response would be taken for this one.
        withState { $0.mayKeep = false }
        throw .connection(error)
      }
    }

    // MARK: - The request's body

    /// What follows a body in chunks; nil before its end.
    var trailers: HTTPFields? { withState { $0.trailers } }

    /// Waits for the next piece of the body; nil after its end.
    nonisolated(nonsending) func nextPiece(
      limit: Int, whenOver isOver: Bool = false
    ) async throws(HTTPServerError) -> ByteBuffer? {
      if let length = head.contentLength, length > limit { throw counted(.bodyTooLarge(limit: limit)) }
      let wait = try change(whenOver: isOver) { state throws(HTTPServerError) in
        guard state.hasBody else { return (asks: Bool, end: HTTPConnection.End?)?.none }
        defer { state.asksToContinue = false }
        state.bodyEnd = state.bodyEnd ?? http.end(of: .bodyTime, after: http.server.limits.bodyTime)
        // Within a response it would be a part of that.
        if case .none = state.response { return (state.asksToContinue, state.bodyEnd) }
        return (false, state.bodyEnd)
      }
      guard let (asks, end) = wait else { return nil }
      if asks { try await send(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
      let part: HTTPServerRequestPart
      do { part = try await http.nextPart(until: end) } catch { throw counted(error) }
      switch part {
      case .body(let piece):
        let received = withState { state in
          state.received += piece.readableBytes
          return state.received
        }
        if received > limit { throw counted(.bodyTooLarge(limit: limit)) }
        return piece
      case .end(let trailers):
        var fields: HTTPFields?
        for (text, value) in trailers ?? [:] {
          fields = fields ?? HTTPFields()
          fields?.append(try RequestHead.field(text, value))
        }
        withState { ($0.hasBody, $0.trailers) = (false, fields) }
        return nil
      case .head: throw .malformed("a request within a body")
      }
    }

    /// Counts an error of the body by its limit, once.
    private func counted(_ error: HTTPServerError) -> HTTPServerError {
      guard let limit = error.limit else { return error }
      let isFirst = withState { state in
        defer { state.isCounted = true }
        return !state.isCounted
      }
      if isFirst { http.server.count(limit) }
      return error
    }

    // MARK: - The response

    /// Begins the response. A body that the client was not asked for may come or not: nothing can follow it.
    private func begin(
      _ head: HTTPResponse, length: Int?, isWhole: Bool
    ) throws(HTTPServerError) -> ResponseHead {
      let date = http.date.line(on: http.connection.loop)
      // In a drain the client is told that no other request is served, but for one that has come.
      let isAtEnd = head.status != .switchingProtocols && http.connection.isAtEnd
      return try change { state throws(HTTPServerError) in
        guard case .none = state.response else { throw .over }
        if head.status.kind == .informational, head.status != .switchingProtocols { throw .noResponse }
        let mayKeep = state.mayKeep && !state.asksToContinue && !isAtEnd
        let made = ResponseHead(head, to: self.head, length: length, mayKeep: mayKeep, date: date)
        state.mayKeep = made.isKept
        state.response = isWhole ? .done : .begun(made, sent: 0, length: length)
        return made
      }
    }

    /// Sends a whole response.
    nonisolated(nonsending) func send(_ response: HTTPResponse, _ body: [UInt8]) async throws(HTTPServerError) {
      let head = try begin(response, length: body.count, isWhole: true)
      try await send(head.bytes, head.hasBody ? body : [])
    }

    /// Sends the head of a response whose body follows.
    nonisolated(nonsending) func start(_ response: HTTPResponse) async throws(HTTPServerError) {
      let length = response.headerFields[.contentLength].flatMap { Int($0) }.flatMap { $0 < 0 ? nil : $0 }
      try await send(try begin(response, length: length, isWhole: false).bytes)
    }

    /// Sends a part of the body.
    nonisolated(nonsending) func write(_ bytes: [UInt8]) async throws(HTTPServerError) {
      let head = try change { state throws(HTTPServerError) in
        guard case .begun(let head, let sent, let length) = state.response else { throw .over }
        let count = sent + bytes.count
        if let length, count > length { throw .wrongLength(sent: count, expected: length) }
        state.response = .begun(head, sent: count, length: length)
        return head
      }
      if !head.hasBody || bytes.isEmpty { return }
      if !head.isChunked { return try await send(bytes) }
      try await send(Array("\(String(bytes.count, radix: 16))\r\n".utf8), bytes, "\r\n")
    }

    /// Ends the body.
    nonisolated(nonsending) func finish(
      _ trailers: HTTPFields? = nil, whenOver isOver: Bool = false
    ) async throws(HTTPServerError) {
      let head = try change(whenOver: isOver) { state throws(HTTPServerError) in
        guard case .begun(let head, let sent, let length) = state.response else { throw .over }
        if let length, sent < length, head.hasBody { throw .wrongLength(sent: sent, expected: length) }
        state.response = .done
        return head
      }
      guard head.hasBody, head.isChunked else { return }
      var bytes = Array("0\r\n".utf8)
      for field in trailers ?? [:] { bytes.append(field: field) }
      try await send(bytes + Array("\r\n".utf8))
    }

    /// Answers 101, and gives the connection to the handler.
    nonisolated(nonsending) func upgrade(_ fields: HTTPFields) async throws(HTTPServerError) -> Connection {
      try change { _ throws(HTTPServerError) in
        if head.request.headerFields[.upgrade] == nil || !head.isVersion11 { throw .refused(.upgradeRequired) }
      }
      while try await nextPiece(limit: http.server.limits.bodyBytes) != nil {}
      let response = HTTPResponse(status: .switchingProtocols, headerFields: fields)
      try await send(try begin(response, length: nil, isWhole: true).bytes)
      try change { state throws(HTTPServerError) in state.response = .handedOver }
      return http.connection
    }

    // MARK: - The end

    /// Ends the use of the exchange by its handler.
    private func leave() -> Response {
      withState { state in
        state.isOver = true
        return state.response
      }
    }

    /// Ends the exchange after its handler has returned.
    ///
    /// - Returns: Whether another request can follow.
    nonisolated(nonsending) func end() async throws(HTTPServerError) -> Bool {
      switch leave() {
      case .none: throw .noResponse
      case .begun: try await finish(whenOver: true)
      case .done: break
      case .handedOver: http.connection.close()
      }
      var left = http.server.limits.unreadBytes
      while withState({ $0.mayKeep && $0.hasBody }) {
        left -= try await nextPiece(limit: .max, whenOver: true)?.readableBytes ?? 0
        if left < 0 {
          http.server.count(.unreadBytes)
          return false
        }
      }
      return withState { $0.mayKeep }
    }

    /// Ends the exchange, and the connection, after a failure. A response that has begun is cut short.
    nonisolated(nonsending) func fail(with error: any Error) async {
      switch leave() {
      case .none: await http.refuse((error as? HTTPServerError)?.status ?? .internalServerError)
      case .done: await http.linger()
      case .begun, .handedOver: break
      }
    }
  }
#endif
