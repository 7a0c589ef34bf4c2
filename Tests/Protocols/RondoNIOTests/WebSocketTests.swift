import NIOCore
import NIOHTTP1
import NIOWebSocket
import Rondo
import RondoNIO
import RondoSockets
import RondoTesting
import Testing

/// WebSocket by SwiftNIO's handlers: frames are the pipeline's elements.
@Suite(.timeLimit(.minutes(10))) struct WebSocketTests {
  typealias Frames = Pipeline<WebSocketFrame, WebSocketFrame>

  private static func frames(over connection: Connection) throws -> Frames {
    try Frames(over: connection) { channel in
      let operations = channel.pipeline.syncOperations
      try operations.addHandler(WebSocketFrameEncoder())
      try operations.addHandler(ByteToMessageHandler(WebSocketFrameDecoder()))
    }
  }

  /// Echoes texts, answers pings and closes when the peer does.
  private static func serve(_ frames: Frames, _ trace: Trace) async throws {
    while let frame = try await frames.read() {
      let data = frame.unmaskedData
      trace.note("\(frame.opcode == .text ? "text" : frame.opcode == .ping ? "ping" : "close"):\(frame.maskKey != nil)")
      switch frame.opcode {
      case .text: try await frames.write(WebSocketFrame(fin: true, opcode: .text, data: data))
      case .ping: try await frames.write(WebSocketFrame(fin: true, opcode: .pong, data: data))
      case .connectionClose:
        try await frames.write(WebSocketFrame(fin: true, opcode: .connectionClose, data: data))
        return try await frames.close()
      default: trace.note("wrong")
      }
    }
  }

  private static func talk(_ frames: Frames, _ trace: Trace) async throws {
    for (opcode, text) in [(WebSocketOpcode.text, "hello"), (.ping, "1"), (.connectionClose, "bye")] {
      let key: WebSocketMaskingKey = [1, 2, 3, 4]
      try await frames.write(WebSocketFrame(fin: true, opcode: opcode, maskKey: key, data: ByteBuffer(string: text)))
      let answer = try await frames.read()!
      trace.note("\(answer.data.text)")
    }
    trace.note(try await frames.read() == nil ? "end" : "wrong")
  }

  @Test func `a client's masked frames are answered: text, ping and close`() throws {
    let text = try simulatePeers { connection, trace in
      try await Self.serve(try Self.frames(over: connection), trace)
    } _: { connection, trace in
      try await Self.talk(try Self.frames(over: connection), trace)
    }
    #expect(text == "text:true hello ping:true 1 close:true bye end")
  }

  @Test func `a frame of a hundred thousand bytes passes in pieces of a slow link`() throws {
    let count = 16_000
    let text = try simulatePeers { connection, trace in
      try await Self.serve(try Self.frames(over: connection), Trace())
    } _: { connection, trace in
      let frames = try Self.frames(over: connection)
      let writing = Task(executorPreference: connection.loop) {
        for number in UInt8(0)..<50 {
          let data = ByteBuffer(repeating: number, count: count)
          try await frames.write(WebSocketFrame(fin: true, opcode: .text, maskKey: [9, 8, 7, 6], data: data))
        }
      }
      for number in UInt8(0)..<50 {
        let frame = try await frames.read()!
        if frame.data != ByteBuffer(repeating: number, count: count) { trace.note("wrong") }
      }
      try await writing.value
      try await frames.close()
      trace.note("whole")
    }
    #expect(text == "whole")
  }

  @Test func `a frame that is too long is the reader's error`() throws {
    let text = try simulatePeers { connection, trace in
      do { _ = try await Self.frames(over: connection).read() } catch { trace.note("\(error)") }
    } _: { connection, _ in
      try await connection.write([0x82, 127, 0, 0, 0, 1, 0, 0, 0, 0])
    }
    #expect(text == "a handler failed: \(NIOWebSocketError.invalidFrameLength)")
  }

  @Test func `a connection is upgraded from HTTP, with a frame that came early`() throws {
    let text = try simulatePeers { connection, trace in
      let decoder = ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .forwardBytes))
      nonisolated(unsafe) let kept = decoder
      let requests = try Pipeline<HTTPServerRequestPart, HTTPServerResponsePart>(over: connection) { channel in
        try channel.pipeline.syncOperations.addHandler(HTTPResponseEncoder())
        try channel.pipeline.syncOperations.addHandler(kept)
      }
      while let part = try await requests.read() {
        if case .head(let head) = part { trace.note("\(head.uri)") }
        if case .end = part { break }
      }
      let headers: HTTPHeaders = ["connection": "upgrade", "upgrade": "websocket"]
      try await requests.write(.head(.init(version: .http1_1, status: .switchingProtocols, headers: headers)))
      try await requests.write(.end(nil))
      let upgraded = try await requests.handOver(removing: [decoder])
      try await Self.serve(try Self.frames(over: upgraded), trace)
    } _: { connection, trace in
      let request = "GET /chat HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"
      // An unmasked text frame behind the request.
      try await connection.write(Array(request.utf8) + [0x81, 5] + Array("early".utf8))
      while let line = try await connection.readLine(), !line.isEmpty { trace.note(line) }
      let frames = try Self.frames(over: connection)
      trace.note(try await frames.read()!.data.text)
      try await Self.talk(frames, trace)
    }
    #expect(
      text == """
        /chat text:false HTTP/1.1 101 Switching Protocols connection: upgrade upgrade: websocket early \
        text:true hello ping:true 1 close:true bye end
        """)
  }
}
