import NIOCore
import Rondo
import RondoNIO
import RondoSockets
import RondoTesting
import Testing

/// Calls of a pipeline in a task that is cancelled, and on a loop that ends.
@Suite(.timeLimit(.minutes(10))) struct CancellationTests {
  @Test func `a cancelled read loses nothing`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let pipeline = try LinePipeline(lines: near)
      try await far.write("on")
      let reading = Task(executorPreference: loop) { try await pipeline.read() }
      try await loop.clock.sleep(for: .seconds(1))
      reading.cancel()
      do { _ = try await reading.value } catch { trace.note("\(error)") }
      try await far.write("e\n")
      trace.note(try await pipeline.read()!)
    }
    #expect(text == "the wait for the socket ended: \(Loop.WaitError.cancelled) one")
  }

  /// A writer that the peer holds up is cancelled; then the peer reads.
  private func text(cancelling number: Int) throws -> String {
    let big = String(repeating: "x", count: 200_000)
    return try simulatePeers { connection, trace in
      let pipeline = try LinePipeline(lines: connection)
      let writing = ["a", "b", "c"].map { name in
        Task(executorPreference: connection.loop) { try await pipeline.write(name + big) }
      }
      try await connection.loop.clock.sleep(for: .seconds(1))
      writing[number].cancel()
      for task in writing {
        switch await task.result {
        case .success: trace.note("ok")
        case .failure(PipelineError.connection(.wait(.cancelled))): trace.note("cancelled")
        case .failure(let error): trace.note("\(error)")
        }
      }
      try await pipeline.write("d")
      try await pipeline.close()
    } _: { connection, trace in
      try await connection.loop.clock.sleep(for: .seconds(10))
      let whole = ["a", "b", "c"].map { $0 + big + "\n" }.joined() + "d\n"
      trace.note(try await connection.text() == whole ? "whole" : "wrong")
    }
  }

  @Test func `what a write has given to handlers is sent, though it is cancelled while it sends`() throws {
    let tokens = try text(cancelling: 0).split(separator: " ")
    #expect(tokens.sorted() == ["cancelled", "ok", "ok", "whole"] && tokens.first == "cancelled")
  }

  @Test(arguments: [1, 2]) func `the same holds for one that waits for its turn`(_ number: Int) throws {
    let tokens = try text(cancelling: number).split(separator: " ")
    #expect(tokens.sorted() == ["cancelled", "ok", "ok", "whole"] && tokens[number] == "cancelled")
  }

  @Test func `a write of a task that was cancelled before is sent, too, and says that it was cancelled`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let pipeline = try LinePipeline(lines: near)
      let writing = Task(executorPreference: loop) {
        withUnsafeCurrentTask { $0!.cancel() }
        try await pipeline.write("one")
      }
      do { try await writing.value } catch { trace.note("\(error)") }
      trace.note(try await far.readLine()!)
    }
    #expect(text == "the wait for the socket ended: \(Loop.WaitError.cancelled) one")
  }

  @Test func `a promise succeeds though the write that sends it is cancelled`() throws {
    let text = try simulatePeers { connection, trace in
      let pipeline = try Pipeline<ByteBuffer, ByteBuffer>(over: connection) { _ in }
      pipeline.channel.write(ByteBuffer(repeating: 1, count: 100_000)).whenSuccess { trace.note("sent") }
      let writing = Task(executorPreference: connection.loop) { try await pipeline.write(ByteBuffer(string: "x")) }
      try await connection.loop.clock.sleep(for: .seconds(1))
      writing.cancel()
      if case .failure = await writing.result { trace.note("cancelled") }
      try await connection.loop.clock.sleep(for: .seconds(20))
      connection.close()
    } _: { connection, trace in
      try await connection.loop.clock.sleep(for: .seconds(10))
      trace.note("\(try await connection.text().utf8.count)")
    }
    #expect(text == "cancelled sent 100001")
  }

  @Test func `the end of the sending comes though it was cancelled`() throws {
    let text = try simulatePeers { connection, trace in
      let pipeline = try Pipeline<ByteBuffer, ByteBuffer>(over: connection) { _ in }
      pipeline.channel.write(ByteBuffer(repeating: 1, count: 100_000), promise: nil)
      pipeline.channel.flush()
      let finishing = Task(executorPreference: connection.loop) { try await pipeline.finishWriting() }
      try await connection.loop.clock.sleep(for: .seconds(1))
      finishing.cancel()
      if case .failure = await finishing.result { trace.note("cancelled") }
      trace.note(try await pipeline.read() == nil ? "end" : "wrong")
    } _: { connection, trace in
      try await connection.loop.clock.sleep(for: .seconds(10))
      trace.note("\(try await connection.text().utf8.count)")
      connection.close()
    }
    #expect(text == "cancelled 100000 end")
  }

  @Test func `a limit of time that passes while it sends fails the channel`() throws {
    let text = try simulatePeers { connection, trace in
      connection.idleLimit = .seconds(5)
      let pipeline = try Pipeline<ByteBuffer, ByteBuffer>(over: connection) { _ in }
      do { try await pipeline.write(ByteBuffer(repeating: 1, count: 100_000)) } catch { trace.note("\(error)") }
      trace.note("\(pipeline.channel.isActive)")
    } _: { connection, _ in
      try await connection.loop.clock.sleep(for: .seconds(10))
    }
    #expect(text == "the wait for the socket ended: \(Loop.WaitError.timedOut) false")
  }

  @Test func `a limit of time that passes while it reads leaves the channel as it is`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let pipeline = try LinePipeline(lines: near)
      near.idleLimit = .seconds(5)
      do { _ = try await pipeline.read() } catch { trace.note("\(error)") }
      try await far.write("one\n")
      trace.note(try await pipeline.read()!)
    }
    #expect(text == "the wait for the socket ended: \(Loop.WaitError.timedOut) one")
  }

  @Test func `the end of the loop fails what is scheduled, and later work runs where it comes from`() async throws {
    let thread = try LoopThread(name: "ending")
    let (near, far) = try Connection.pair(on: thread.loop)
    let pipeline = try LinePipeline(lines: near)
    let eventLoop = pipeline.channel.eventLoop
    let (early, late) = (eventLoop.scheduleTask(in: .hours(1)) {}, Counter())
    await thread.end()
    await #expect(throws: EventLoopError.shutdown) { try await early.futureResult.get() }
    await #expect(throws: EventLoopError.shutdown) {
      try await eventLoop.scheduleTask(in: .hours(1)) {}.futureResult.get()
    }
    eventLoop.execute { late.count() }
    #expect(late.value == 1)
    _ = far
  }

  @Test func `the end of the loop ends a read`() async throws {
    let thread = try LoopThread(name: "ending")
    let (near, far) = try Connection.pair(on: thread.loop)
    let pipeline = try LinePipeline(lines: near)
    let reading = Task { try await pipeline.read() }
    try await far.write("hal")
    await thread.end()
    let result = await reading.result
    #expect(throws: PipelineError.self) { try result.get() }
    guard case .failure(PipelineError.connection(.wait(let error))) = result else { return }
    #expect(error == .loopEnded)
  }
}
