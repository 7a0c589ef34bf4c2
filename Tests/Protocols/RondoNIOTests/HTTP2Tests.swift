import Foundation
import NIOCore
import NIOHTTP1
import NIOHTTP2
import Rondo
import RondoNIO
import RondoSockets
import RondoTesting
import Testing

private let curl = "/usr/bin/curl"

/// HTTP/2 by SwiftNIO's handlers: each stream is a channel of its own above the pipeline's.
@Suite(.timeLimit(.minutes(10))) struct HTTP2Tests {
  /// Serves streams until the peer ends.
  ///
  /// - Parameter onFull: Called when a stream's handler waits for room.
  private static func serve(_ connection: Connection, onFull: @escaping @Sendable () -> Void) async throws {
    let pipeline = try Pipeline<HTTP2Frame, HTTP2Frame>(over: connection) { channel in
      _ = try channel.pipeline.syncOperations.configureHTTP2Pipeline(
        mode: .server, connectionConfiguration: .init(), streamConfiguration: .init()
      ) { stream in
        stream.eventLoop.makeCompletedFuture {
          try stream.pipeline.syncOperations.addHandler(HTTP2FramePayloadToHTTP1ServerCodec())
          try stream.pipeline.syncOperations.addHandler(Responder(onFull: onFull))
        }
      }
    }
    while try await pipeline.read() != nil {}
    try await pipeline.close()
  }

  /// Answers a request for /N with N bytes, as its stream has room.
  private final class Responder: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let onFull: @Sendable () -> Void
    private var left = 0
    private var isAnswering = false

    init(onFull: @escaping @Sendable () -> Void) { self.onFull = onFull }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      guard case .head(let head) = unwrapInboundIn(data) else { return }
      left = Int(head.uri.dropFirst()) ?? 0
      isAnswering = true
      context.write(wrapOutboundOut(.head(.init(version: .http2, status: .ok))), promise: nil)
      goOn(context)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
      goOn(context)
      context.fireChannelWritabilityChanged()
    }

    private func goOn(_ context: ChannelHandlerContext) {
      guard isAnswering else { return }
      while left > 0, context.channel.isWritable {
        let count = min(left, 10_000)
        left -= count
        context.writeAndFlush(
          wrapOutboundOut(.body(.byteBuffer(ByteBuffer(repeating: 97, count: count)))), promise: nil)
      }
      if left > 0 { return onFull() }
      isAnswering = false
      context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
  }

  /// Asks for a path by curl.
  ///
  /// - Returns: Its protocol, the status and the number of bytes.
  private func ask(_ port: UInt16, _ path: String) async throws -> String {
    // One URL in a process: curl 7.88 does not use a connection of prior knowledge again.
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: curl)
    process.arguments = [
      "--silent", "--show-error", "--max-time", "300", "--http2-prior-knowledge", "--output", "/dev/null",
      "--write-out",
      "%{http_version} %{http_code} %{size_download}", "http://127.0.0.1:\(port)\(path)",
    ]
    process.standardOutput = output
    return try await withCheckedThrowingContinuation { continuation in
      process.terminationHandler = { _ in
        let data = output.fileHandleForReading.readDataToEndOfFile()
        continuation.resume(returning: String(decoding: data, as: UTF8.self))
      }
      do { try process.run() } catch { continuation.resume(throwing: error) }
    }
  }

  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: curl), "curl is not installed"))
  func `curl gets answers of any length over streams, which wait for room`() async throws {
    let full = Counter()
    try await withLoop { loop in
      let listener = try Listener(at: .loopback())
      let port = try #require(listener.address.port)
      let serving = Task {
        try await listener.serve(on: loop) { connection in
          try await Self.serve(connection) { full.count() }
        }
      }
      for count in [0, 5, 3_000_000] {
        let answer = try await ask(port, "/\(count)")
        #expect(answer == "2 200 \(count)")
      }
      let answers = try await withThrowingTaskGroup(of: String.self) { group in
        for _ in 0..<4 { group.addTask { try await ask(port, "/100000") } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(answers == Array(repeating: "2 200 100000", count: 4))
      serving.cancel()
      _ = await serving.result
    }
    #expect(full.value > 0)
  }

  @Test func `a client of SwiftNIO's gets several streams at once in virtual time`() throws {
    let text = try simulatePeers { connection, _ in
      try await Self.serve(connection) {}
    } _: { connection, trace in
      let pipeline = try Pipeline<HTTP2Frame, HTTP2Frame>(over: connection) { channel in
        let multiplexer = try channel.pipeline.syncOperations.configureHTTP2Pipeline(
          mode: .client, connectionConfiguration: .init(), streamConfiguration: .init()
        ) { $0.eventLoop.makeSucceededVoidFuture() }
        for count in [1_000, 200_000, 5] {
          multiplexer.createStreamChannel(promise: nil) { stream in
            stream.eventLoop.makeCompletedFuture {
              try stream.pipeline.syncOperations.addHandler(
                HTTP2FramePayloadToHTTP1ClientCodec(httpProtocol: .http))
              try stream.pipeline.syncOperations.addHandler(
                Asker("/\(count)") { received in
                  trace.note("\(received)")
                  if trace.tokens.count == 3 { channel.close(promise: nil) }
                })
            }
          }
        }
      }
      while try await pipeline.read() != nil {}
      trace.note("end")
    }
    // NIOHTTP2 serves short streams in any order.
    let tokens = text.split(separator: " ")
    #expect(Set(tokens.prefix(2)) == ["5", "1000"] && tokens.dropFirst(2) == ["200000", "end"])
  }

  /// Asks for a path, and counts the bytes of the answer.
  private final class Asker: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private let path: String
    private let onEnd: (Int) -> Void
    private var count = 0

    init(_ path: String, onEnd: @escaping (Int) -> Void) {
      self.path = path
      self.onEnd = onEnd
    }

    func channelActive(context: ChannelHandlerContext) {
      let head = HTTPRequestHead(version: .http2, method: .GET, uri: path, headers: ["host": "test"])
      context.write(wrapOutboundOut(.head(head)), promise: nil)
      context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      switch unwrapInboundIn(data) {
      case .head: break
      case .body(let bytes): count += bytes.readableBytes
      case .end: onEnd(count)
      }
    }
  }
}
