import NIOCore
import Rondo
import RondoNIO
import RondoSockets
import RondoTesting
import Synchronization
import Testing

/// What slows down whom. A simulated connection takes 65,536 bytes in each direction, and a piece has at most as many.
@Suite(.timeLimit(.minutes(10))) struct BackPressureTests {
  private static let window = 65_536

  @Test func `a peer that does not read suspends the writer`() throws {
    let count = Mutex(0)
    let text = try simulatePeers { connection, trace in
      let pipeline = try Pipeline<ByteBuffer, ByteBuffer>(over: connection) { _ in }
      for _ in 0..<100 {
        try await pipeline.write(ByteBuffer(repeating: 1, count: 1_024))
        count.withLock { $0 += 1 }
      }
      try await pipeline.close()
    } _: { connection, trace in
      try await connection.loop.clock.sleep(for: .seconds(100))
      trace.note("\(count.withLock { $0 })")
      trace.note("\(try await connection.text().utf8.count)")
    }
    #expect(text == "\(Self.window / 1_024) \(100 * 1_024)")
  }

  @Test func `a handler that echoes holds the limit and a piece for a peer that does not read`() throws {
    let total = 1_000_000
    let seen = Mutex(0)
    let text = try simulatePeers { connection, trace in
      let pipeline = try Pipeline<Never, Never>(over: connection) { channel in
        let handler = Handler()
        handler.onRead = { context, data in
          let count = context.channel._channelCore.tryUnwrapData(data, as: ByteBuffer.self)!.readableBytes
          seen.withLock { $0 += count }
          context.writeAndFlush(data, promise: nil)
        }
        try channel.pipeline.syncOperations.addHandler(handler)
      }
      while try await pipeline.read() != nil {}
      try await pipeline.close()
    } _: { connection, trace in
      let writing = Task(executorPreference: connection.loop) {
        for _ in 0..<total / 1_000 { try await connection.write([UInt8](repeating: 1, count: 1_000)) }
        try await connection.finishWriting()
      }
      try await connection.loop.clock.sleep(for: .seconds(100))
      // The connection has taken a window. The last piece was read when one byte was left to the limit, or before.
      let held = seen.withLock { $0 } - Self.window
      trace.note("\(held >= 65_536 && held < 65_536 + Self.window)")
      trace.note("\(try await connection.text().utf8.count)")
      try await writing.value
    }
    #expect(text == "true \(total)")
  }

  @Test func `a reader that does not read stops the peer`() throws {
    let count = Mutex(0)
    let text = try simulatePeers { connection, trace in
      let pipeline = try LinePipeline(lines: connection)
      trace.note("\(try await pipeline.read()!.count)")
      try await connection.loop.clock.sleep(for: .seconds(100))
      // The first line came alone; the others wait in the connection, and nothing in the handlers.
      trace.note("\(count.withLock { $0 })")
      var lines = 0
      for try await _ in pipeline { lines += 1 }
      trace.note("\(lines)")
    } _: { connection, trace in
      let line = [UInt8](repeating: 97, count: 1_023) + [10]
      for _ in 0..<200 {
        try await connection.write(line)
        count.withLock { $0 += 1 }
        if count.withLock({ $0 }) == 1 { try await connection.loop.clock.sleep(for: .seconds(1)) }
      }
      connection.close()
    }
    #expect(text == "1023 \(1 + Self.window / 1_024) 199")
  }

  @Test func `handlers find the channel not writable at the limit, and are told of each change`() throws {
    let text = try simulatePeers { connection, trace in
      let pipeline = try Pipeline<ByteBuffer, ByteBuffer>(over: connection, bufferLimit: 100) { channel in
        let handler = Handler()
        handler.onWritability = { trace.note($0.channel.isWritable ? "writable" : "full") }
        try channel.pipeline.syncOperations.addHandler(handler)
      }
      let channel = pipeline.channel
      for count in [99, 1, 1] {
        channel.write(ByteBuffer(repeating: 1, count: count), promise: nil)
        trace.note("\(channel.isWritable)")
      }
      channel.flush()
      try await connection.loop.clock.sleep(for: .seconds(1))
      trace.note("\(channel.isWritable)")
    } _: { connection, _ in
      _ = try await connection.text()
    }
    #expect(text == "true full false false writable true")
  }

  @Test func `a handler that writes while it may fills the limit, and goes on as the peer reads`() throws {
    let total = 1_000_000
    let written = Mutex(0)
    let text = try simulatePeers { connection, trace in
      let pipeline = try Pipeline<Never, Never>(over: connection, bufferLimit: 10_000) { channel in
        @Sendable func produce(_ context: ChannelHandlerContext) {
          while context.channel.isWritable, written.withLock({ $0 }) < total {
            written.withLock { $0 += 1_000 }
            context.write(NIOAny(ByteBuffer(repeating: 1, count: 1_000)), promise: nil)
          }
          context.flush()
        }
        let handler = Handler()
        handler.onActive = { produce($0) }
        handler.onWritability = { if $0.channel.isWritable { produce($0) } }
        try channel.pipeline.syncOperations.addHandler(handler)
      }
      trace.note(try await pipeline.read() == nil ? "end" : "wrong")
    } _: { connection, trace in
      try await connection.loop.clock.sleep(for: .seconds(100))
      // The connection has taken its part, one output is on its way, and the next one waits.
      trace.note("\(written.withLock { $0 } <= Self.window + 2 * 10_000)")
      var count = 0
      while count < total { count += try await connection.read()!.count }
      trace.note("\(count)")
    }
    #expect(text == "true \(total) end")
  }

  @Test func `a reader reads on beside writers that the peer holds up`() throws {
    let total = 1_000_000
    // Both ends write all of it before the peer's writer goes on: each reads meanwhile, and answers.
    @Sendable func talk(_ connection: Connection, _ trace: Trace) async throws {
      let pipeline = try Pipeline<ByteBuffer, ByteBuffer>(over: connection) { channel in
        let handler = Handler()
        handler.onRead = { context, data in
          context.writeAndFlush(NIOAny(ByteBuffer(string: "!")), promise: nil)
          context.fireChannelRead(data)
        }
        try channel.pipeline.syncOperations.addHandler(handler)
      }
      let writing = (0..<4).map { _ in
        Task(executorPreference: connection.loop) {
          try await pipeline.write(ByteBuffer(repeating: 1, count: total / 4))
        }
      }
      var count = 0
      while count < total { count += try await pipeline.read()!.readableBytes }
      for task in writing { try await task.value }
      trace.note("done")
      try await connection.loop.clock.sleep(for: .seconds(10))
    }
    #expect(try simulatePeers(talk, talk) == "done done")
  }
}
