import NIOCore
import Rondo
import RondoNIO
import RondoSockets
import RondoTesting
import Synchronization
import Testing

/// What a pipeline sends, and when.
@Suite(.timeLimit(.minutes(10))) struct WritingTests {
  @Test func `writes of several tasks stay whole, in the order of the calls`() throws {
    let lines = (0..<20).map { String(repeating: "\($0 % 10)", count: 50_000) }
    let text = try simulatePeers { connection, trace in
      let pipeline = try LinePipeline(lines: connection)
      await withTaskGroup(of: Void.self) { group in
        for line in lines {
          group.addTask(executorPreference: connection.loop) { try? await pipeline.write(line) }
        }
      }
      try await pipeline.close()
    } _: { connection, trace in
      try await connection.loop.clock.sleep(for: .seconds(1))
      trace.note(try await connection.text() == lines.joined(separator: "\n") + "\n" ? "in order" : "mixed")
    }
    #expect(text == "in order")
  }

  @Test func `an element that a handler refuses fails its write alone`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let handler = Handler()
      handler.onWrite = { context, data, promise in
        if "\(data)".hasSuffix("bad") { promise?.fail(BadLine()) } else { context.write(data, promise: promise) }
      }
      nonisolated(unsafe) let strict = handler
      let pipeline = try LinePipeline(over: near) { channel in
        let operations = channel.pipeline.syncOperations
        try operations.addHandlers([MessageToByteHandler(LineEncoder()), strict])
      }
      do { try await pipeline.write("bad") } catch { trace.note("\(error)") }
      try await pipeline.write("good")
      try await pipeline.close()
      trace.note(try await far.text())
    }
    #expect(text == "a handler failed: BadLine() good\n")
  }

  @Test func `an element that no handler makes bytes of is refused`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let pipeline = try Pipeline<Never, Int>(over: near) { _ in }
      do { try await pipeline.write(1) } catch { trace.note("\(error)") }
      _ = far
    }
    #expect(text == "a handler failed: \(ChannelError.operationUnsupported)")
  }

  @Test func `ten thousand small writes arrive whole`() throws {
    let text = try simulatePeers { connection, trace in
      let pipeline = try LinePipeline(lines: connection)
      for number in 0..<10_000 { try await pipeline.write("\(number)") }
      try await pipeline.close()
    } _: { connection, trace in
      let expected = (0..<10_000).map { "\($0)\n" }.joined()
      trace.note(try await connection.text() == expected ? "whole" : "wrong")
    }
    #expect(text == "whole")
  }

  @Test func `what is not flushed is not sent`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let pipeline = try LinePipeline(lines: near)
      pipeline.channel.write("kept", promise: nil)
      let reading = Task(executorPreference: loop) { try await far.read() }
      try await loop.clock.sleep(for: .seconds(60))
      pipeline.channel.flush()
      trace.note("flushed")
      trace.note(String(decoding: try await reading.value!, as: UTF8.self))
      pipeline.channel.write("lost", promise: nil)
      try await pipeline.close()
      trace.note(try await far.text())
    }
    #expect(text == "flushed kept\n ")
  }

  @Test func `a write's promise succeeds when its bytes are with the connection, and not before`() throws {
    let text = try simulatePeers { connection, trace in
      let pipeline = try Pipeline<ByteBuffer, ByteBuffer>(over: connection) { _ in }
      // More than both windows take.
      pipeline.channel.write(ByteBuffer(repeating: 1, count: 1_000_000)).whenSuccess { trace.note("big") }
      pipeline.channel.writeAndFlush(ByteBuffer()).whenSuccess { trace.note("empty") }
      try await connection.loop.clock.sleep(for: .seconds(10))
      trace.note("reads:")
      _ = try await pipeline.read()
    } _: { connection, trace in
      try await connection.loop.clock.sleep(for: .seconds(11))
      var count = 0
      while count < 1_000_000 { count += try await connection.read()!.count }
    }
    #expect(text == "reads: big empty")
  }

  @Test func `the promise of an empty write succeeds by itself, after a flush`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let pipeline = try Pipeline<ByteBuffer, ByteBuffer>(over: near) { _ in }
      let written = pipeline.channel.write(ByteBuffer())
      written.whenSuccess { trace.note("sent") }
      try await loop.clock.sleep(for: .seconds(1))
      trace.note("flush")
      pipeline.channel.flush()
      try await written.get()
      _ = far
    }
    #expect(text == "flush sent")
  }

  @Test func `promises of all that is not sent fail with the connection`() throws {
    let text = try simulatePeers { connection, trace in
      let pipeline = try Pipeline<ByteBuffer, ByteBuffer>(over: connection) { _ in }
      let channel = pipeline.channel
      for name in ["sending", "flushed"] {
        channel.writeAndFlush(ByteBuffer(repeating: 1, count: 1_000_000)).whenFailure { _ in trace.note(name) }
        try await connection.loop.clock.sleep(for: .seconds(1))
      }
      channel.write(ByteBuffer(repeating: 1, count: 10)).whenFailure { _ in trace.note("unflushed") }
      try await channel.closeFuture.get()
      trace.note("closed")
      do { _ = try await pipeline.read() } catch { trace.note("broken") }
    } _: { connection, _ in
      try await connection.loop.clock.sleep(for: .seconds(10))
      connection.close()
    }
    #expect(text == "sending flushed unflushed closed broken")
  }

  @Test func `a write after the channel has closed is refused`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let pipeline = try LinePipeline(lines: near)
      try await pipeline.close()
      do { try await pipeline.write("late") } catch { trace.note("\(error)") }
      trace.note(try await pipeline.read() ?? "nil")
      _ = far
    }
    #expect(text == "a handler failed: \(ChannelError.ioOnClosedChannel) nil")
  }

  @Test func `what handlers write in channelActive is sent without a call`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let pipeline = try LinePipeline(over: near) { channel in
        let handler = Handler()
        handler.onActive = { $0.writeAndFlush(NIOAny(ByteBuffer(string: "welcome")), promise: nil) }
        try channel.pipeline.syncOperations.addHandler(handler)
      }
      trace.note(String(decoding: try await far.read()!, as: UTF8.self))
      _ = pipeline
    }
    #expect(text == "welcome")
  }

  @Test func `what work of the configuration's writes is sent without a call`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let pipeline = try LinePipeline(over: near) { channel in
        channel.eventLoop.execute { channel.writeAndFlush(ByteBuffer(string: "welcome"), promise: nil) }
      }
      let reading = Task(executorPreference: loop) { try await pipeline.read() }
      trace.note(String(decoding: try await far.read()!, as: UTF8.self))
      far.close()
      _ = try await reading.value
    }
    #expect(text == "welcome")
  }

  @Test func `what a timer's handler writes is sent without a call`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let pipeline = try LinePipeline(lines: near)
      let (start, channel) = (loop.clock.now, pipeline.channel)
      channel.eventLoop.scheduleTask(in: .seconds(5)) { channel.writeAndFlush("ping", promise: nil) }
      trace.note(String(decoding: try await far.read()!, as: UTF8.self))
      trace.note("\(start.duration(to: loop.clock.now))")
    }
    #expect(text == "ping\n 5.0 seconds")
  }

  @Test func `what handlers answer is sent though the program is slow with an element`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let pipeline = try LinePipeline(over: near) { channel in
        let handler = Handler()
        handler.onRead = { context, _ in
          context.writeAndFlush(NIOAny(ByteBuffer(string: "pong")), promise: nil)
          context.fireChannelRead(NIOAny("ping"))
        }
        try channel.pipeline.syncOperations.addHandler(handler)
      }
      try await far.write("ping")
      trace.note(try await pipeline.read()!)
      // The program does not call the pipeline.
      trace.note(String(decoding: try await far.read()!, as: UTF8.self))
      _ = pipeline
    }
    #expect(text == "ping pong")
  }

  @Test func `what a promise's callback writes is sent, too`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let pipeline = try LinePipeline(lines: near)
      let channel = pipeline.channel
      channel.writeAndFlush("one").whenSuccess { channel.writeAndFlush("two", promise: nil) }
      trace.note(try await far.readLine()!)
      trace.note(try await far.readLine()!)
    }
    #expect(text == "one two")
  }

  @Test func `a handler that keeps a promise to itself holds up no write`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let handler = Handler()
      var kept: EventLoopPromise<Void>?
      handler.onWrite = { context, data, promise in
        kept = promise
        context.write(data, promise: nil)
      }
      handler.onRemoved = { kept?.fail(BadLine()) }
      nonisolated(unsafe) let slow = handler
      let pipeline = try LinePipeline(over: near) { channel in
        try channel.pipeline.syncOperations.addHandlers([MessageToByteHandler(LineEncoder()), slow])
      }
      try await pipeline.write("one")
      trace.note(try await far.readLine()!)
    }
    #expect(text == "one")
  }

  @Test func `calls on the channel and on the pipeline come in their order`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let pipeline = try LinePipeline(lines: near)
      for round in 0..<3 {
        pipeline.channel.writeAndFlush("channel \(round)", promise: nil)
        try await pipeline.write("pipeline \(round)")
      }
      try await pipeline.close()
      trace.note(try await far.text())
    }
    #expect(text == (0..<3).map { "channel \($0)\npipeline \($0)\n" }.joined())
  }

  @Test func `addresses are those of the connection`() throws {
    let text = try simulatePeers { connection, trace in
      let channel = try LinePipeline(lines: connection).channel
      trace.note("\(channel.localAddress!.port!) \(channel.remoteAddress!.ipAddress!)")
      _ = try await connection.read()
    } _: { _, _ in
    }
    #expect(text == "7007 10.0.0.2")
  }
}
