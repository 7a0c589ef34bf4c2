import NIOCore
import Rondo
import RondoNIO
import RondoSockets
import RondoTesting
import Testing

/// How pipelines end, and what stays.
@Suite(.timeLimit(.minutes(10))) struct ClosingTests {
  @Test func `the sending ends, and the peer still sends`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let pipeline = try LinePipeline(lines: near)
      try await pipeline.write("question")
      try await pipeline.finishWriting()
      trace.note(try await far.text())
      do { try await pipeline.write("more") } catch { trace.note("\(error)") }
      try await far.write("answer\n")
      far.close()
      trace.note(try await pipeline.read() ?? "nil")
      trace.note(try await pipeline.read() ?? "nil")
    }
    #expect(text == "question\n a handler failed: \(ChannelError.outputClosed) answer nil")
  }

  @Test func `the peer's sending ends, and it still reads`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let pipeline = try LinePipeline(lines: near)
      try await far.finishWriting()
      trace.note(try await pipeline.read() ?? "nil")
      try await pipeline.write("answer")
      try await pipeline.close()
      trace.note(try await far.text())
    }
    #expect(text == "nil answer\n")
  }

  @Test func `a handler's goodbye is sent before its close`() throws {
    let goodbye = String(repeating: "bye", count: 100_000)
    let text = try simulatePeers { connection, trace in
      let pipeline = try LinePipeline(over: connection) { channel in
        let handler = Handler()
        handler.onRead = { context, _ in
          context.writeAndFlush(NIOAny(ByteBuffer(string: goodbye)), promise: nil)
          context.close(promise: nil)
        }
        try channel.pipeline.syncOperations.addHandler(handler)
      }
      trace.note(try await pipeline.read() ?? "nil")
      trace.note("\(connection.isClosed)")
    } _: { connection, trace in
      try await connection.write("x")
      try await connection.loop.clock.sleep(for: .seconds(10))
      trace.note(try await connection.text() == goodbye ? "goodbye" : "wrong")
    }
    #expect(Set(text.split(separator: " ")) == ["nil", "true", "goodbye"])
  }

  @Test func `a close behind another task's write cuts off neither`() throws {
    let big = String(repeating: "x", count: 200_000)
    let text = try simulatePeers { connection, trace in
      let pipeline = try LinePipeline(lines: connection)
      let writing = Task(executorPreference: connection.loop) { try await pipeline.write(big) }
      try await connection.loop.clock.sleep(for: .seconds(1))
      pipeline.channel.writeAndFlush("bye", promise: nil)
      try await pipeline.close()
      try await writing.value
    } _: { connection, trace in
      try await connection.loop.clock.sleep(for: .seconds(10))
      trace.note(try await connection.text() == big + "\nbye\n" ? "whole" : "wrong")
    }
    #expect(text == "whole")
  }

  @Test func `an end of the sending behind another task's write cuts off neither`() throws {
    let big = String(repeating: "x", count: 200_000)
    let text = try simulatePeers { connection, trace in
      let pipeline = try LinePipeline(lines: connection)
      let writing = Task(executorPreference: connection.loop) { try await pipeline.write(big) }
      try await connection.loop.clock.sleep(for: .seconds(1))
      pipeline.channel.writeAndFlush("bye", promise: nil)
      pipeline.channel.close(mode: .output, promise: nil)
      try await writing.value
      trace.note(try await pipeline.read() ?? "nil")
    } _: { connection, trace in
      try await connection.loop.clock.sleep(for: .seconds(10))
      trace.note(try await connection.text() == big + "\nbye\n" ? "whole" : "wrong")
      connection.close()
    }
    #expect(text == "whole nil")
  }

  @Test func `a handler sees its life in order, active only between its two ends`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let pipeline = try LinePipeline(over: near) { channel in
        let handler = Handler()
        handler.onAdded = { trace.note("added:\($0.channel.isActive)") }
        handler.onActive = { trace.note("active:\($0.channel.isActive)") }
        handler.onInactive = { trace.note("inactive:\($0.channel.isActive)") }
        handler.onRemoved = { trace.note("removed") }
        try channel.pipeline.syncOperations.addHandler(handler)
      }
      try await pipeline.close()
      trace.note("closed")
      _ = far
    }
    #expect(text == "added:false active:true inactive:false removed closed")
  }

  @Test func `a configuration that throws ends the handlers, and leaves the connection`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      do {
        _ = try LinePipeline(over: near) { channel in
          let handler = Handler()
          handler.onActive = { _ in trace.note("wrong") }
          handler.onInactive = { _ in trace.note("wrong") }
          handler.onRemoved = { trace.note("removed") }
          try channel.pipeline.syncOperations.addHandler(handler)
          throw BadLine()
        }
      } catch { trace.note("\(error)") }
      try await near.write("alive")
      near.close()
      trace.note(try await far.text())
    }
    #expect(text == "removed a handler failed: BadLine() alive")
  }

  @Test func `a configuration that closes the channel leaves nothing to read`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let pipeline = try LinePipeline(over: near) { $0.close(promise: nil) }
      trace.note(try await pipeline.read() ?? "nil")
      _ = far
    }
    #expect(text == "nil")
  }

  @Test func `the release of a pipeline frees its channel and handlers, and closes the connection`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      weak var released: Handler?
      weak var channel: (any Channel)?
      do {
        let pipeline = try LinePipeline(over: near) { channel in
          let handler = Handler()
          handler.onRemoved = { trace.note("removed") }
          released = handler
          let operations = channel.pipeline.syncOperations
          try operations.addHandlers([handler, MessageToByteHandler(LineEncoder())])
        }
        channel = pipeline.channel
        channel!.eventLoop.scheduleTask(in: .seconds(1)) {}
        try await pipeline.write("one")
        _ = consume pipeline
      }
      trace.note("\(channel == nil) \(released == nil)")
      _ = consume near
      trace.note(try await far.text())
    }
    #expect(text == "removed true true one\n")
  }

  @Test func `a pipeline that was closed frees its channel, too`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      weak var channel: (any Channel)?
      do {
        let pipeline = try LinePipeline(lines: near)
        channel = pipeline.channel
        try await pipeline.close()
      }
      trace.note("\(channel == nil)")
      _ = far
    }
    #expect(text == "true")
  }

  @Test func `a second close does nothing`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let pipeline = try LinePipeline(lines: near)
      for _ in 0..<2 { try await pipeline.close() }
      trace.note("\(near.isClosed)")
      _ = far
    }
    #expect(text == "true")
  }

  @Test func `closeFuture succeeds when the channel closes`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let pipeline = try LinePipeline(lines: near)
      pipeline.channel.closeFuture.whenSuccess { trace.note("closed") }
      trace.note("open")
      try await pipeline.close()
      _ = far
    }
    #expect(text == "open closed")
  }

  // MARK: - Handing over

  @Test func `a connection is handed over with the bytes that its decoders have not used`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let decoder = ByteToMessageHandler(LineDecoder())
      nonisolated(unsafe) let kept = decoder
      let pipeline = try LinePipeline(over: near) { try $0.pipeline.syncOperations.addHandler(kept) }
      try await far.write("upgrade\nrest of")
      trace.note(try await pipeline.read()!)
      let connection = try await pipeline.handOver(removing: [decoder])
      try await far.write(" it\n")
      trace.note(try await connection.readLine()!)
      for call in ["read", "write"] {
        do {
          if call == "read" {
            trace.note(try await pipeline.read() ?? "nil")
          } else {
            try await pipeline.write("late")
          }
        } catch { trace.note("\(error)") }
      }
      try await connection.write("alive")
      connection.close()
      trace.note(try await far.text())
    }
    #expect(
      text == "upgrade rest of it nil a handler failed: \(ChannelError.ioOnClosedChannel) alive")
  }

  @Test func `the release of a pipeline that was handed over leaves its connection`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      func handOver() async throws -> Connection {
        let pipeline = try Pipeline<ByteBuffer, ByteBuffer>(over: near) { _ in }
        return try await pipeline.handOver(removing: [])
      }
      let connection = try await handOver()
      try await connection.write("alive")
      connection.close()
      trace.note(try await far.text())
    }
    #expect(text == "alive")
  }

  @Test func `elements of bytes that nobody has read are handed over, too`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let handler = Handler()
      // One piece becomes two elements.
      handler.onRead = { context, data in
        context.fireChannelRead(data)
        context.fireChannelRead(data)
      }
      nonisolated(unsafe) let twice = handler
      let pipeline = try Pipeline<ByteBuffer, ByteBuffer>(over: near) {
        try $0.pipeline.syncOperations.addHandler(twice)
      }
      try await far.write("x\n")
      trace.note(try await pipeline.read()!.text)
      trace.note(try await pipeline.handOver(removing: [twice]).readLine()!)
    }
    #expect(text == "x\n x")
  }
}
