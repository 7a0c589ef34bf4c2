import NIOCore
import Rondo
import RondoNIO
import RondoSockets
import RondoTesting
import Synchronization
import Testing

/// Lines that end with LF. A last line may have no end; a decoder that is taken out passes its rest on.
struct LineDecoder: ByteToMessageDecoder {
  typealias InboundOut = String

  mutating func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) throws -> DecodingState {
    guard let end = buffer.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) else { return .needMoreData }
    let line = buffer.readString(length: end - buffer.readerIndex)!
    buffer.moveReaderIndex(forwardBy: 1)
    if line == "bad" { throw BadLine() }
    context.fireChannelRead(NIOAny(line))
    return .continue
  }

  mutating func decodeLast(
    context: ChannelHandlerContext, buffer: inout ByteBuffer, seenEOF: Bool
  ) throws -> DecodingState {
    while try decode(context: context, buffer: &buffer) == .continue {}
    if buffer.readableBytes > 0 {
      context.fireChannelRead(
        seenEOF ? NIOAny(buffer.readString(length: buffer.readableBytes)! + "(EOF)") : NIOAny(buffer))
    }
    return .needMoreData
  }
}

struct BadLine: Error, Equatable {}

struct LineEncoder: MessageToByteEncoder {
  func encode(data: String, out: inout ByteBuffer) throws {
    if data == "bad" { throw BadLine() }
    out.writeString(data + "\n")
  }
}

/// A number that any thread counts up.
final class Counter: Sendable {
  private let number = Atomic(0)

  var value: Int { number.load(ordering: .relaxed) }

  func count() { number.add(1, ordering: .relaxed) }
}

/// A handler that does what a test says.
final class Handler: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = NIOAny
  typealias OutboundIn = NIOAny

  var onActive: (ChannelHandlerContext) -> Void = { _ in }
  var onRead: (ChannelHandlerContext, NIOAny) -> Void = { $0.fireChannelRead($1) }
  var onWritability: (ChannelHandlerContext) -> Void = { _ in }
  var onInactive: (ChannelHandlerContext) -> Void = { $0.fireChannelInactive() }
  var onError: (ChannelHandlerContext, any Error) -> Void = { $0.fireErrorCaught($1) }
  var onAdded: (ChannelHandlerContext) -> Void = { _ in }
  var onRemoved: () -> Void = {}
  var onWrite: (ChannelHandlerContext, NIOAny, EventLoopPromise<Void>?) -> Void = {
    $0.write($1, promise: $2)
  }

  func channelActive(context: ChannelHandlerContext) {
    onActive(context)
    context.fireChannelActive()
  }
  func channelRead(context: ChannelHandlerContext, data: NIOAny) { onRead(context, data) }
  func channelWritabilityChanged(context: ChannelHandlerContext) { onWritability(context) }
  func channelInactive(context: ChannelHandlerContext) { onInactive(context) }
  func errorCaught(context: ChannelHandlerContext, error: any Error) { onError(context, error) }
  func handlerAdded(context: ChannelHandlerContext) { onAdded(context) }
  func handlerRemoved(context: ChannelHandlerContext) { onRemoved() }
  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    onWrite(context, data, promise)
  }
}

typealias LinePipeline = Pipeline<String, String>

extension Pipeline where Inbound == String, Outbound == String {
  /// Lines over a connection, with handlers between them and it.
  convenience init(
    lines connection: Connection, bufferLimit: Int = 65_536, onEvent: (@Sendable (Any) -> Void)? = nil,
    behind handlers: sending [any ChannelHandler] = []
  ) throws {
    try self.init(over: connection, bufferLimit: bufferLimit, onEvent: onEvent) { channel in
      let operations = channel.pipeline.syncOperations
      try operations.addHandlers(handlers)
      try operations.addHandler(ByteToMessageHandler(LineDecoder()))
      try operations.addHandler(MessageToByteHandler(LineEncoder()))
    }
  }
}

/// Runs a test's task on a simulated host, for at most an hour of virtual time.
///
/// - Returns: What it noted, and what it threw. It must end.
func simulate(
  at location: SourceLocation = #_sourceLocation, _ body: @escaping @Sendable (Loop, Trace) async throws -> Void
) -> String {
  withSimulation { simulation in
    let host = simulation.host("10.0.0.1")
    let (trace, loop) = (Trace(), host.loop)
    let isOver = Mutex(false)
    host.start {
      do { try await body(loop, trace) } catch { trace.note("threw: \(error)") }
      isOver.withLock { $0 = true }
    }
    let hasEnded = simulation.run(until: { isOver.withLock { $0 } })
    #expect(hasEnded, "The task waits for ever, after: \(trace.text)", sourceLocation: location)
    return trace.text
  }
}

/// Runs a test's task, and one of its peer's, with a connection between two simulated hosts.
func simulatePeers(
  resetAt: Duration? = nil, at location: SourceLocation = #_sourceLocation,
  _ one: @escaping @Sendable (Connection, Trace) async throws -> Void,
  _ other: @escaping @Sendable (Connection, Trace) async throws -> Void
) throws -> String {
  try withSimulation { simulation in
    let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
    let (serverLoop, clientLoop) = (server.loop, client.loop)
    let address = try SocketAddress(parsing: "10.0.0.1:7007")
    let trace = Trace()
    let left = Mutex(2)
    server.start {
      defer { left.withLock { $0 -= 1 } }
      do {
        let listener = try Listener(at: address)
        var incoming = try listener.connections(on: serverLoop).makeAsyncIterator()
        try await one(try await incoming.next()!, trace)
      } catch { trace.note("server threw: \(error)") }
    }
    client.start {
      defer { left.withLock { $0 -= 1 } }
      do { try await other(try await .connected(to: address, on: clientLoop), trace) } catch {
        trace.note("client threw: \(error)")
      }
    }
    if let resetAt { simulation.at(resetAt) { simulation.link(server, client).reset() } }
    let hasEnded = simulation.run(until: { left.withLock { $0 } == 0 })
    #expect(hasEnded, "A task waits for ever, after: \(trace.text)", sourceLocation: location)
    return trace.text
  }
}

/// A loop of its own thread for the length of `body`.
func withLoop<Result: Sendable>(_ body: (Loop) async throws -> Result) async throws -> Result {
  let thread = try LoopThread(name: "pipelines")
  let result = await Swift.Result { try await body(thread.loop) }
  await thread.end()
  return try result.get()
}

extension Result where Failure == any Error {
  init(catching body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}

extension Connection {
  /// Reads all up to the peer's end.
  func text() async throws -> String {
    var all: [UInt8] = []
    while let bytes = try await read() { all += bytes }
    return String(decoding: all, as: UTF8.self)
  }
}

extension ByteBuffer {
  var text: String { String(buffer: self) }
}
