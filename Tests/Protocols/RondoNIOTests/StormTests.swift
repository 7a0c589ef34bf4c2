import NIOCore
import NIOHTTP1
import Rondo
import RondoNIO
import RondoSockets
import RondoTesting
import Testing

/// Pipelines under faults, cancellations and handlers of all kinds.
@Suite(.timeLimit(.minutes(10))) struct StormTests {
  @Test(.seeds(30)) func `every line is echoed once and in order, whatever is cut and cancelled`() throws {
    let lines = 60
    try withSimulation { simulation in
      let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      simulation.faults.shorten(.send, oneIn: 3)
      simulation.faults.shorten(.receive, oneIn: 3)
      let (serverLoop, clientLoop) = (server.loop, client.loop)
      let address = try SocketAddress(parsing: "10.0.0.1:7007")
      let cancelled = (0..<lines).map { _ in simulation.choose(among: 3) == 0 }
      let pauses = (0..<lines).map { _ in 1 + simulation.choose(among: 4) }
      let trace = Trace()
      server.start {
        try await Listener(at: address).serve(on: serverLoop) { connection in
          let pipeline = try LinePipeline(lines: connection, bufferLimit: 1_000)
          do {
            while let line = try await pipeline.read() { try await pipeline.write(line) }
            try await pipeline.close()
          } catch { trace.note("server: \(error)") }
        }
      }
      client.start {
        let connection = try await Connection.connected(to: address, on: clientLoop)
        let pipeline = try LinePipeline(lines: connection, bufferLimit: 1_000)
        defer { trace.note("over") }
        let writing = Task(executorPreference: clientLoop) {
          for number in 0..<lines {
            let line = "\(number):" + String(repeating: "x", count: number * 500)
            let write = Task(executorPreference: clientLoop) { try await pipeline.write(line) }
            try await clientLoop.clock.sleep(for: .microseconds(pauses[number] * 50))
            if cancelled[number] { write.cancel() }
            _ = await write.result
          }
          try await pipeline.finishWriting()
        }
        var count = 0
        while true {
          let reading = Task(executorPreference: clientLoop) { try await pipeline.read() }
          try await clientLoop.clock.sleep(for: .microseconds(pauses[count % lines] * 50))
          if cancelled[(count + 1) % lines] { reading.cancel() }
          do {
            guard let line = try await reading.value else { break }
            let isRight = line == "\(count):" + String(repeating: "x", count: count * 500)
            if !isRight { trace.note("wrong:\(line.prefix(10))") }
            count += 1
          } catch PipelineError.connection(.wait(.cancelled)) {
            continue
          } catch {
            trace.note("\(error)")
            break
          }
        }
        try await writing.value
        trace.note("\(count)")
      }
      simulation.run(until: { trace.tokens.last == "over" })
      #expect(trace.text == "\(lines) over")
    }
  }

  @Test func `a handler that flushes by a timer, to a peer that does not read, loses nothing`() throws {
    let text = try simulatePeers { connection, trace in
      let pipeline = try LinePipeline(over: connection) { channel in
        let handler = Handler()
        handler.onActive = { context in
          let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
          context.eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: .milliseconds(1)) { _ in
            bound.value.writeAndFlush(NIOAny(ByteBuffer(repeating: 1, count: 1_000)), promise: nil)
          }
        }
        try channel.pipeline.syncOperations.addHandler(handler)
      }
      try await connection.loop.clock.sleep(for: .milliseconds(1_000))
      trace.note("\(pipeline.channel.isWritable)")
      try await pipeline.close()
    } _: { connection, trace in
      try await connection.loop.clock.sleep(for: .seconds(10))
      trace.note("\(try await connection.text().utf8.count / 1_000 >= 1_000)")
    }
    #expect(text == "false true")
  }

  @Test func `SwiftNIO's idle handler tells of silence, never early`() async throws {
    try await withLoop { loop in
      let (near, far) = try Connection.pair(on: loop)
      let (events, continuation) = AsyncStream.makeStream(of: ContinuousClock.Instant.self)
      let start = ContinuousClock.now
      let pipeline = try LinePipeline(
        over: near,
        onEvent: { event in
          if event as? IdleStateHandler.IdleStateEvent == .read { continuation.yield(.now) }
        },
        { channel in
          try channel.pipeline.syncOperations.addHandler(IdleStateHandler(readTimeout: .milliseconds(50)))
        })
      let end = try #require(await events.first { _ in true })
      #expect(end - start >= .milliseconds(50))
      try await pipeline.close()
      _ = far
    }
  }

  @Test func `requests in a row are answered in order, by a task of their own`() throws {
    let text = try simulatePeers { connection, trace in
      let pipeline = try Pipeline<HTTPServerRequestPart, HTTPServerResponsePart>(over: connection) { channel in
        try channel.pipeline.syncOperations.configureHTTPServerPipeline()
      }
      var writing: [Task<Void, any Error>] = []
      while let part = try await pipeline.read() {
        guard case .end = part else { continue }
        // Reads the next request meanwhile, which a handler holds back until this one is answered.
        let number = writing.count
        writing.append(
          Task(executorPreference: connection.loop) {
            try await connection.loop.clock.sleep(for: .seconds(1))
            let headers: HTTPHeaders = ["content-length": "1"]
            try await pipeline.write(.head(.init(version: .http1_1, status: .ok, headers: headers)))
            try await pipeline.write(.body(.byteBuffer(ByteBuffer(string: "\(number)"))))
            try await pipeline.write(.end(nil))
          })
      }
      for task in writing { try await task.value }
      try await pipeline.close()
    } _: { connection, trace in
      let request = "GET / HTTP/1.1\r\nhost: a\r\n\r\n"
      try await connection.write(request + request + request)
      while let line = try await connection.readLine() {
        if line.count == 1 || line.hasSuffix("OK") { trace.note(String(line.suffix(2))) }
        if line.isEmpty {
          let body = try await connection.read(exactly: 1)!
          trace.note(String(decoding: body, as: UTF8.self))
          if body == [50] {
            connection.close()
            break
          }
        }
      }
    }
    #expect(text == "OK 0 OK 1 OK 2")
  }

  @Test func `a request that is no HTTP is answered, and is the reader's error`() throws {
    let text = try simulatePeers { connection, trace in
      let pipeline = try Pipeline<HTTPServerRequestPart, HTTPServerResponsePart>(over: connection) { channel in
        try channel.pipeline.syncOperations.configureHTTPServerPipeline()
      }
      do { _ = try await pipeline.read() } catch { trace.note("error") }
      connection.close()
    } _: { connection, trace in
      try await connection.write("no http\r\n\r\n")
      trace.note(try await connection.readLine() ?? "nil")
    }
    #expect(text == "error HTTP/1.1 400 Bad Request")
  }

  @Test func `a handler that writes as often as it is told of a sent write goes on without a call`() throws {
    let text = try simulatePeers { connection, trace in
      let pipeline = try LinePipeline(lines: connection)
      let channel = pipeline.channel
      @Sendable func write(_ number: Int) {
        if number == 1_000 { return channel.close(promise: nil) }
        channel.writeAndFlush("\(number)").whenSuccess { write(number + 1) }
      }
      write(0)
      trace.note(try await pipeline.read() ?? "nil")
    } _: { connection, trace in
      trace.note(try await connection.text() == (0..<1_000).map { "\($0)\n" }.joined() ? "whole" : "wrong")
    }
    #expect(Set(text.split(separator: " ")) == ["nil", "whole"])
  }
}
