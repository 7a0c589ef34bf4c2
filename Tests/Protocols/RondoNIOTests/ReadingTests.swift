import NIOCore
import Rondo
import RondoNIO
import RondoSockets
import RondoTesting
import Testing

/// What a pipeline gives the task that reads.
@Suite(.timeLimit(.minutes(10))) struct ReadingTests {
  @Test func `a decoder's elements come one by one, however the bytes are cut`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let pipeline = try LinePipeline(lines: near)
      for piece in ["on", "e\ntwo\nth", "ree\n"] { try await far.write(piece) }
      for _ in 0..<3 { trace.note(try await pipeline.read() ?? "nil") }
    }
    #expect(text == "one two three")
  }

  @Test func `the end of the peer's bytes reaches decodeLast, and then the reader, for good`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let pipeline = try LinePipeline(lines: near)
      try await far.write("one\nhal")
      far.close()
      for _ in 0..<4 { trace.note(try await pipeline.read() ?? "nil") }
    }
    #expect(text == "one hal(EOF) nil nil")
  }

  @Test func `a pipeline is a sequence that ends with the peer`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      try await far.write("one\ntwo\n")
      far.close()
      for try await line in try LinePipeline(lines: near) { trace.note(line) }
      trace.note("end")
    }
    #expect(text == "one two end")
  }

  @Test func `a handler's error is thrown after the elements before it, and nothing comes after it`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let pipeline = try LinePipeline(lines: near)
      try await far.write("one\nbad\ntwo\n")
      for _ in 0..<3 {
        do { trace.note(try await pipeline.read() ?? "nil") } catch { trace.note("\(error)") }
      }
    }
    #expect(text == "one a handler failed: BadLine() a handler failed: BadLine()")
  }

  @Test func `what handlers answer to an error is sent before it is thrown`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let pipeline = try Pipeline<Never, Never>(over: near) { channel in
        try channel.pipeline.syncOperations.addHandler(ByteToMessageHandler(LineDecoder()))
        let handler = Handler()
        handler.onError = { context, error in
          context.writeAndFlush(NIOAny(ByteBuffer(string: "400")), promise: nil)
          context.fireErrorCaught(error)
        }
        try channel.pipeline.syncOperations.addHandler(handler)
      }
      try await far.write("bad\n")
      await #expect(throws: PipelineError.self) { try await pipeline.read() }
      near.close()
      trace.note(try await far.text())
    }
    #expect(text == "400")
  }

  @Test func `an element of another type is an error that names both`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let pipeline = try Pipeline<Int, Never>(over: near) { channel in
        try channel.pipeline.syncOperations.addHandler(ByteToMessageHandler(LineDecoder()))
      }
      try await far.write("one\n")
      _ = try await pipeline.read()
    }
    #expect(text == "threw: a handler failed: String: one came, not Int")
  }

  @Test func `bytes that no handler decodes are an error`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let pipeline = try LinePipeline(over: near) { _ in }
      try await far.write("one\n")
      _ = try await pipeline.read()
    }
    #expect(text.hasSuffix("came, not String"))
  }

  @Test func `without handlers, elements are the bytes as they come`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let pipeline = try Pipeline<ByteBuffer, ByteBuffer>(over: near) { _ in }
      try await far.write("hello")
      trace.note(try await pipeline.read()!.text)
      try await pipeline.write(ByteBuffer(string: "you"))
      try await pipeline.close()
      trace.note(try await far.text())
    }
    #expect(text == "hello you")
  }

  @Test func `a second task that reads gets an error, and the first one its element`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let pipeline = try LinePipeline(lines: near)
      let first = Task(executorPreference: loop) { try await pipeline.read() }
      try await loop.clock.sleep(for: .seconds(1))
      do throws(PipelineError) { _ = try await pipeline.read() } catch {
        if case .connection(.wait(.alreadyAwaited)) = error { trace.note("refused") }
      }
      try await far.write("one\n")
      trace.note(try await first.value ?? "nil")
    }
    #expect(text == "refused one")
  }

  @Test func `an element that a timer makes wakes the reader`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let pipeline = try LinePipeline(over: near) { channel in
        let handler = Handler()
        handler.onActive = { context in
          let later = NIOLoopBound(context, eventLoop: context.eventLoop)
          context.eventLoop.scheduleTask(in: .seconds(5)) { later.value.fireChannelRead(NIOAny("tick")) }
        }
        try channel.pipeline.syncOperations.addHandler(handler)
      }
      let start = loop.clock.now
      trace.note(try await pipeline.read() ?? "nil")
      trace.note("\(start.duration(to: loop.clock.now))")
      _ = far
    }
    #expect(text == "tick 5.0 seconds")
  }

  @Test func `an element that another task's write lets through wakes the reader`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let handler = Handler()
      handler.onWrite = { context, _, _ in context.fireChannelRead(NIOAny("loud")) }
      nonisolated(unsafe) let echo = handler
      let pipeline = try LinePipeline(over: near) { try $0.pipeline.syncOperations.addHandler(echo) }
      let reading = Task(executorPreference: loop) { try await pipeline.read() }
      try await loop.clock.sleep(for: .seconds(1))
      try await pipeline.write("quiet")
      trace.note(try await reading.value ?? "nil")
      _ = far
    }
    #expect(text == "loud")
  }

  @Test func `an error that a timer makes wakes the reader`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let pipeline = try LinePipeline(lines: near)
      let channel = pipeline.channel
      channel.eventLoop.scheduleTask(in: .seconds(5)) { channel.pipeline.fireErrorCaught(BadLine()) }
      do { _ = try await pipeline.read() } catch { trace.note("\(error)") }
      _ = far
    }
    #expect(text == "a handler failed: BadLine()")
  }

  @Test func `a channel that a timer closes ends the reading, and the peer`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let pipeline = try LinePipeline(lines: near)
      let channel = pipeline.channel
      channel.eventLoop.scheduleTask(in: .seconds(5)) { channel.close(promise: nil) }
      trace.note(try await pipeline.read() ?? "nil")
      trace.note(try await far.read() == nil ? "closed" : "wrong")
    }
    #expect(text == "nil closed")
  }

  @Test func `the end reaches the reader though a handler keeps channelInactive to itself`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let handler = Handler()
      handler.onInactive = { _ in }
      handler.onRead = { context, _ in context.close(promise: nil) }
      nonisolated(unsafe) let silent = handler
      let pipeline = try LinePipeline(over: near) { try $0.pipeline.syncOperations.addHandler(silent) }
      try await far.write("one\n")
      trace.note(try await pipeline.read() ?? "nil")
    }
    #expect(text == "nil")
  }

  @Test func `user events that pass all handlers reach onEvent, the peer's end among them`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let pipeline = try LinePipeline(lines: near) { trace.note("\($0)") }
      pipeline.channel.pipeline.fireUserInboundEventTriggered("handshake")
      try await far.finishWriting()
      trace.note(try await pipeline.read() ?? "nil")
    }
    #expect(text == "handshake inputClosed nil")
  }

  @Test func `a connection that breaks fails the reader, and handlers hear of it`() throws {
    let text = try simulatePeers(resetAt: .seconds(10)) { connection, trace in
      let pipeline = try LinePipeline(over: connection) { channel in
        let handler = Handler()
        handler.onError = { context, error in
          trace.note("handler: \(error is ConnectionError)")
          context.fireErrorCaught(error)
        }
        handler.onInactive = { context in
          trace.note("inactive")
          context.fireChannelInactive()
        }
        try channel.pipeline.syncOperations.addHandler(handler)
      }
      for _ in 0..<2 {
        do throws(PipelineError) { _ = try await pipeline.read() } catch {
          if case .connection(.socket(.reset)) = error { trace.note("broken") }
        }
      }
    } _: { connection, _ in
      try await connection.loop.clock.sleep(for: .seconds(20))
    }
    #expect(text == "handler: true inactive broken broken")
  }
}
