#if NIO
  public import NIOCore
  public import Rondo
  public import RondoSockets

  /// Runs handlers of SwiftNIO over a connection, and gives the program typed elements.
  ///
  /// Handlers need no thread and no socket of SwiftNIO's. They run in the calls of this class, on the caller's thread, and
  /// in timers of the loop; one at a time. In a task of the loop that is the loop's thread.
  ///
  /// ```swift
  /// let pipeline = try Pipeline<HTTPServerRequestPart, HTTPServerResponsePart>(over: connection) { channel in
  ///   try channel.pipeline.syncOperations.configureHTTPServerPipeline()
  /// }
  /// while let part = try await pipeline.read() { print(part) }
  /// ```
  ///
  /// It reads from the connection while a task waits in ``read()``, unless too many answers of handlers wait to be sent. So
  /// a task that reads slowly slows the peer down, and a peer that reads slowly suspends the task. Use it from any thread:
  /// one task reads, any number write.
  public final class Pipeline<Inbound: Sendable, Outbound: Sendable>: Sendable {
    /// The connection below the handlers.
    public let connection: Connection
    /// *constant*
    package let core: PipelineChannel
    /// *the thread inside of the channel*
    @safe private nonisolated(unsafe) let end: PipelineEnd<Inbound>

    /// Makes a pipeline, and adds its handlers. Any thread.
    ///
    /// - Parameters:
    ///   - connection: Nothing else reads it or writes to it from now on.
    ///   - bufferLimit: Handlers find the channel not writable while so many bytes wait to be sent, and nothing is read
    ///     while so many are answers of handlers to what was read.
    ///   - onEvent: Called with each inbound user event that passes all handlers, such as those of TLS.
    ///   - configure: Adds handlers to the channel's pipeline; by `syncOperations`, too.
    /// - Throws: `.handler` with what `configure` threw.
    public init(
      over connection: Connection, in mode: Loop.Mode = .common, bufferLimit: Int = 65_536,
      onEvent: (@Sendable (Any) -> Void)? = nil, _ configure: (any Channel) throws -> Void
    ) throws(PipelineError) {
      self.connection = connection
      core = PipelineChannel(on: connection.loop, in: mode, bufferLimit: bufferLimit, for: connection)
      let end = PipelineEnd<Inbound>(onEvent, onNews: connection.wakeReader)
      self.end = end
      let channel = core
      let result = core.attend {
        Result {
          try configure(channel)
          try channel.pipeline.syncOperations.addHandler(end)
          channel.begin()
        }
      }
      if case .failure(let error) = result {
        core.attend { core.fail(error) }
        throw .handler(error)
      }
      core.attend {
        core.onOutput = { [weak self] in self?.sendSoon() }
        core.announce()
      }
    }

    deinit { core.attend { core.detach() } }

    /// The channel that handlers see: for futures, user events and options. Any thread.
    ///
    /// What you write to it is sent in time, without back-pressure.
    public var channel: any Channel { core }

    /// Reads the next element, and suspends until there is one. Any thread; one task at a time.
    ///
    /// - Returns: Nil when the peer sends no more, or a handler has closed the channel.
    /// - Throws: `.handler` with the first error that passed all handlers; `.connection`, as `Connection.read(upTo:)`.
    public nonisolated(nonsending) func read() async throws(PipelineError) -> Inbound? {
      while true {
        switch core.attend({ next() }) {
        case .element(let element): return element
        case .failed(let error):
          // What handlers have answered to it.
          try? await send()
          throw PipelineError(error)
        case .ended:
          try await send()
          return nil
        case .nothing:
          // Answers of handlers are sent meanwhile: a peer that has no room for them may wait for a reader itself.
          let mayReceive = core.attend {
            core.announce()
            return core.mayReceive
          }
          if !mayReceive { try await send(isLast: true) }
          try await receive()
        }
      }
    }

    /// *inside*
    private func next() -> PipelineEnd<Inbound>.Next {
      let next = end.next()
      switch next {
      // The program may take its time with it.
      case .element: core.announce()
      // A handler has kept the channel's end to itself.
      case .nothing where core.hasClosed: return .ended
      default: break
      }
      return next
    }

    /// Gives handlers what has come, unless one of them has something for the program first.
    private nonisolated(nonsending) func receive() async throws(PipelineError) {
      do {
        let bytes = try await connection.readNext { core.attend { !awaitsNews() } }
        core.attend {
          end.await(false)
          if let bytes {
            if !bytes.isEmpty { core.receive(ByteBuffer(bytes: bytes)) }
          } else {
            core.receiveEnd()
            end.finish()
          }
        }
      } catch {
        let isOver = core.attend {
          end.await(false)
          if core.hasClosed { return true }
          // The same call may succeed later after the end of a wait.
          if case .wait = error { return false }
          core.fail(error)
          return false
        }
        if !isOver { throw .connection(error) }
      }
    }

    /// *inside*
    private func awaitsNews() -> Bool {
      let isNeeded = !end.hasNews && !core.hasClosed
      end.await(isNeeded)
      return isNeeded
    }

    /// Gives handlers an element to write, and suspends while the peer has no room. Any thread.
    ///
    /// If the task is cancelled, the element is sent nevertheless: handlers have it.
    ///
    /// - Throws: `.handler` if a handler or the channel refused it; `.connection`, as `Connection.write(_:)`.
    public nonisolated(nonsending) func write(_ element: Outbound) async throws(PipelineError) {
      let refusal = Refusal()
      core.attend {
        let written = core.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenFailure { refusal.error = $0 }
        core.pipeline.syncOperations.writeAndFlush(NIOAny(element), promise: written)
      }
      try await send()
      // A handler may keep what it was given: no success is waited for.
      if let error = core.attend({ refusal.error }) { throw PipelineError(error) }
    }

    /// Ends the sending, by the handlers' own goodbye. The peer can still send. Any thread.
    ///
    /// - Throws: As ``write(_:)``.
    public nonisolated(nonsending) func finishWriting() async throws(PipelineError) {
      core.attend { core.pipeline.close(mode: .output, promise: nil) }
      try await send()
    }

    /// Has the handlers close the channel, sends what they have flushed, and closes the connection. Any thread.
    ///
    /// - Throws: As ``write(_:)``; the connection is then closed, too.
    public nonisolated(nonsending) func close() async throws(PipelineError) {
      defer { connection.close() }
      core.attend { core.pipeline.close(mode: .all, promise: nil) }
      try await send(isLast: true)
    }

    /// Takes handlers out, and gives the connection back with their unused bytes. Any thread.
    ///
    /// The pipeline closes; its connection stays. This is how a protocol is followed by another one, as after an upgrade.
    ///
    /// - Parameter decoders: What is taken out, in this order. What comes behind a decoder takes its bytes: so handlers
    ///   of the program's end come first.
    /// - Throws: As ``write(_:)``.
    public nonisolated(nonsending) func handOver(
      removing decoders: [any RemovableChannelHandler]
    ) async throws(PipelineError) -> Connection {
      try await send(isLast: true)
      core.attend {
        end.keepBytes()
        for decoder in decoders { core.pipeline.syncOperations.removeHandler(decoder, promise: nil) }
      }
      // A decoder has given its bytes when the call before has returned.
      let left = core.attend {
        core.detach()
        return end.takeBytes()
      }
      do { try connection.putBack(left) } catch { throw .connection(error) }
      return connection
    }

    // MARK: - Sending

    /// Sends what handlers have flushed, and does with the connection what they did with the channel.
    ///
    /// - Parameter isLast: Whether it waits for what other tasks send.
    package nonisolated(nonsending) func send(isLast: Bool = false) async throws(PipelineError) {
      guard core.attend({ core.hasOutput || isLast && core.senders > 0 }) else { return }
      var output = PipelineChannel.Output()
      var last: CloseMode?
      core.attend { core.senders += 1 }
      defer { core.attend { core.senders -= 1 } }
      do {
        try await connection.writeNext {
          core.attend {
            last = core.takeEnd()
            output = core.takeOutput()
          }
          return output.bytes
        } puttingBack: { rest in
          core.attend { core.putBack(rest, of: output) }
          output = PipelineChannel.Output()
        }
        core.attend { core.complete(output) }
        output = PipelineChannel.Output()
        switch last {
        case .all: connection.close()
        case .output: try await connection.finishWriting()
        default: break
        }
        // Those who were told so may have written more.
        core.attend { core.announce() }
      } catch {
        core.attend {
          if error == .wait(.cancelled) {
            core.putBack(last)
            core.announce()
          } else {
            core.complete(output, failure: error)
            core.fail(error)
          }
        }
        throw .connection(error)
      }
    }

    /// The same, for output that no call of the program's will send.
    private func sendSoon() {
      // The error is the reader's and the next writer's, too.
      Task(executorPreference: connection.loop) { [self] in try? await send() }
    }
  }

  /// Why an element was not written. *the thread inside of the channel*
  private final class Refusal: @unchecked Sendable {
    var error: (any Error)?
  }

  extension Pipeline: AsyncSequence {
    /// Returns an iterator over what ``read()`` gives. For one task.
    public func makeAsyncIterator() -> Iterator { Iterator(pipeline: self) }

    /// Reads element by element.
    public struct Iterator: AsyncIteratorProtocol {
      fileprivate let pipeline: Pipeline

      /// Reads the next element. Stays on the caller's actor.
      public mutating func next(isolation actor: isolated (any Actor)?) async throws(PipelineError) -> Inbound? {
        try await pipeline.read()
      }
    }
  }
#endif
