import NIOCore
import Rondo
import RondoNIO
import RondoSockets
import RondoTesting
import Synchronization
import Testing

/// The event loop that handlers see.
@Suite(.timeLimit(.minutes(10))) struct EventLoopTests {
  /// Runs a task with the event loop of a pipeline on a simulated host.
  private func simulateEventLoop(
    at location: SourceLocation = #_sourceLocation,
    _ body: @escaping @Sendable (any EventLoop, Loop, Trace) async throws -> Void
  ) -> String {
    simulate(at: location) { loop, trace in
      let (near, _) = try Connection.pair(on: loop)
      let pipeline = try LinePipeline(lines: near)
      try await body(pipeline.channel.eventLoop, loop, trace)
    }
  }

  @Test func `scheduled tasks run at their date, in its order`() {
    let text = simulateEventLoop { eventLoop, loop, trace in
      let start = loop.clock.now
      for milliseconds: Int64 in [2_500, 1, 0, 1] {
        eventLoop.scheduleTask(in: .milliseconds(milliseconds)) {
          trace.note("\(milliseconds)@\(start.duration(to: loop.clock.now))")
        }
      }
      let deadline = eventLoop.now + .seconds(3)
      let last = eventLoop.scheduleTask(deadline: deadline) { eventLoop.now == deadline }
      trace.note("\(try await last.futureResult.get())")
    }
    #expect(text == "0@0.0 seconds 1@0.001 seconds 1@0.001 seconds 2500@2.5 seconds true")
  }

  @Test func `a cancelled task never runs, and its future fails`() {
    let text = simulateEventLoop { eventLoop, loop, trace in
      let scheduled = eventLoop.scheduleTask(in: .seconds(1)) { trace.note("wrong") }
      scheduled.futureResult.whenFailure { trace.note("\($0)") }
      scheduled.cancel()
      try await loop.clock.sleep(for: .seconds(10))
    }
    #expect(text == "\(EventLoopError.cancelled)")
  }

  @Test func `a date in the past is now, and one that never comes is kept`() {
    let text = simulateEventLoop { eventLoop, loop, trace in
      eventLoop.scheduleTask(deadline: .distantPast) { trace.note("past") }
      let never = eventLoop.scheduleTask(deadline: .distantFuture) { trace.note("wrong") }
      try await loop.clock.sleep(for: .seconds(10))
      never.cancel()
    }
    #expect(text == "past")
  }

  @Test func `a repeated task runs at each date until it is cancelled`() {
    let text = simulateEventLoop { eventLoop, loop, trace in
      let start = loop.clock.now
      let task = eventLoop.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(2)) { task in
        trace.note("\(start.duration(to: loop.clock.now).components.seconds)")
        if start.duration(to: loop.clock.now) >= .seconds(7) { task.cancel() }
      }
      try await loop.clock.sleep(for: .seconds(100))
      _ = task
    }
    #expect(text == "1 3 5 7")
  }

  @Test func `a task that throws fails its future`() {
    let text = simulateEventLoop { eventLoop, _, _ in
      _ = try await eventLoop.scheduleTask(in: .seconds(1)) { throw BadLine() }.futureResult.get()
    }
    #expect(text == "threw: BadLine()")
  }

  @Test func `what a handler executes runs after it, before the call returns`() {
    let text = simulate { loop, trace in
      let (near, far) = try Connection.pair(on: loop)
      let pipeline = try LinePipeline(over: near) { channel in
        let handler = Handler()
        handler.onActive = { context in
          context.eventLoop.execute { trace.note("executed") }
          trace.note("active")
        }
        try channel.pipeline.syncOperations.addHandler(handler)
      }
      trace.note("made")
      _ = (pipeline, far)
    }
    #expect(text == "active executed made")
  }

  @Test func `work from another thread runs on the loop's, and so do a promise's callbacks`() async throws {
    try await withLoop { loop in
      let (near, far) = try Connection.pair(on: loop)
      let pipeline = try LinePipeline(lines: near)
      let eventLoop = pipeline.channel.eventLoop
      let isThere = try await eventLoop.submit { loop.isCurrent && eventLoop.inEventLoop }.get()
      #expect(isThere)
      let promise = eventLoop.makePromise(of: Void.self)
      let seen = promise.futureResult.map { loop.isCurrent && eventLoop.inEventLoop }
      promise.succeed()
      let wasThere = try await seen.get()
      #expect(wasThere)
      #expect(!eventLoop.inEventLoop)
      _ = far
    }
  }

  @Test func `calls from many threads go through handlers one at a time`() async throws {
    try await withLoop { loop in
      let (near, far) = try Connection.pair(on: loop)
      let inside = Mutex(0)
      let handler = Handler()
      handler.onWrite = { context, data, promise in
        let isAlone = inside.withLock { inside in
          inside += 1
          return inside == 1
        }
        if !isAlone { promise?.fail(BadLine()) } else { context.write(data, promise: promise) }
        inside.withLock { $0 -= 1 }
      }
      nonisolated(unsafe) let strict = handler
      let pipeline = try LinePipeline(lines: near, behind: [strict])
      let reading = Task { try await far.text() }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<8 {
          group.addTask { for line in 0..<100 { try await pipeline.write("\(number * 100 + line)") } }
        }
        try await group.waitForAll()
      }
      try await pipeline.close()
      let numbers = try await reading.value.split(separator: "\n").map { Int($0)! }
      #expect(numbers.sorted() == Array(0..<800))
      for number in 0..<8 {
        let own = numbers.filter { $0 / 100 == number }
        #expect(own == own.sorted())
      }
    }
  }

  @Test func `the event loop does not end the program's loop`() async throws {
    try await withLoop { loop in
      let (near, far) = try Connection.pair(on: loop)
      let eventLoop = try LinePipeline(lines: near).channel.eventLoop
      var refusal: EventLoopError?
      do { try await eventLoop.shutdownGracefully() } catch { refusal = error as? EventLoopError }
      let isAlive = try await loop.call { loop.isCurrent }
      #expect(refusal == .unsupportedOperation)
      #expect(isAlive)
      _ = far
    }
  }
}
