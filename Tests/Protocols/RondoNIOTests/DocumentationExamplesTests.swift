import Foundation
import NIOCore
import NIOHTTP1
import NIOWebSocket
import Rondo
import RondoNIO
import RondoSockets
import RondoTesting
import Testing

// The examples of RondoNIO, with peers for them. A test compares the two texts.

@Suite(.timeLimit(.minutes(10))) struct DocumentationExamplesTests {
  @Test func `RondoNIO: a server of WebSocket frames`() throws {
    let text = try simulatePeers { connection, _ in
      try await Self.echo(connection)
    } _: { connection, trace in
      // A text, a ping and a close, masked with zeros.
      try await connection.write([0x81, 0x81, 0, 0, 0, 0, 65, 0x89, 0x80, 0, 0, 0, 0, 0x88, 0x80, 0, 0, 0, 0])
      while let bytes = try await connection.read() { for byte in bytes { trace.note("\(byte)") } }
    }
    #expect(text == "129 1 65 138 0")
  }

  private static func echo(_ connection: Connection) async throws {
    let frames = try Pipeline<WebSocketFrame, WebSocketFrame>(over: connection) { channel in
      let operations = channel.pipeline.syncOperations
      try operations.addHandlers([WebSocketFrameEncoder(), ByteToMessageHandler(WebSocketFrameDecoder())])
    }
    while let frame = try await frames.read() {
      switch frame.opcode {
      case .text: try await frames.write(WebSocketFrame(fin: true, opcode: .text, data: frame.unmaskedData))
      case .ping: try await frames.write(WebSocketFrame(fin: true, opcode: .pong, data: frame.unmaskedData))
      default: try await frames.close()
      }
    }
  }

  @Test func `Pipeline: requests of HTTP`() throws {
    let text = try simulatePeers { connection, trace in
      try await Self.printRequests(connection) { trace.note("\($0)".hasPrefix("head") ? "head" : "\($0)") }
    } _: { connection, _ in
      try await connection.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
    }
    #expect(text == "head end(nil)")
  }

  private static func printRequests(
    _ connection: Connection, _ print: (HTTPServerRequestPart) -> Void
  ) async throws {
    let pipeline = try Pipeline<HTTPServerRequestPart, HTTPServerResponsePart>(over: connection) { channel in
      try channel.pipeline.syncOperations.configureHTTPServerPipeline()
    }
    while let part = try await pipeline.read() { print(part) }
  }

  @Test(arguments: ["RondoNIO.docc/RondoNIO.md", "Pipeline.swift"])
  func `every example stands here as it is shown`(_ file: String) throws {
    let tests = URL(fileURLWithPath: #filePath)
    let sources = tests.appending(path: "../../../../Sources/Adapters/RondoNIO/").standardized
    // Without indents, and without the strokes of a comment.
    func lines(_ url: URL) throws -> [String] {
      try String(contentsOf: url, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false).map {
        String($0.drop { $0 == " " }.trimmingPrefix("/// ").drop { $0 == " " })
      }
    }
    let own = try lines(tests)
    let examples = try lines(sources.appending(path: file)).split { $0.hasPrefix("```") }.enumerated()
    let shown = examples.filter { $0.offset % 2 == 1 }.map { Array($0.element) }
    #expect(!shown.isEmpty)
    for example in shown {
      #expect(own.indices.contains { own[$0...].starts(with: example) }, "\(example)")
    }
  }
}
