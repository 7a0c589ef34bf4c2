public import Rondo

extension Listener {
  /// Returns the connections to the listener as a sequence. Any thread; for one task.
  ///
  /// The sequence accepts a connection only when the task asks for it; others wait in the listener's queue. If no
  /// descriptor or memory is left, it tries again after 10 ms, then after longer pauses up to one second. No connection
  /// is lost. It also pauses while more than 16 connections in a row fail. The sequence ends when ``stop()`` is called.
  ///
  /// - Throws: `.wait(.descriptor)` if the loop cannot watch the listener. The sequence throws `.wait(.cancelled)`,
  ///   `.wait(.loopEnded)`, or the listener's error.
  public func connections(
    on loop: Loop, in mode: Loop.Mode = .common
  ) throws(ConnectionError) -> some AsyncSequence<Connection, ConnectionError> & Sendable {
    Connections(loop: loop, mode: mode, door: try open(on: loop, in: mode))
  }

  private struct Connections: AsyncSequence, AsyncIteratorProtocol, Sendable {
    let loop: Loop
    let mode: Loop.Mode
    let door: Door

    func makeAsyncIterator() -> Self { self }

    func next(isolation actor: isolated (any Actor)?) async throws(ConnectionError) -> Connection? {
      guard let socket = try await door.accept() else { return nil }
      return try Connection(socket, on: loop, in: mode)
    }
  }
}

extension Listener.Door {
  /// Waits for a connection, and for a descriptor if none is left.
  ///
  /// - Returns: Nil after the listener's stop.
  nonisolated(nonsending) func accept() async throws(ConnectionError) -> Socket? {
    var patience = AcceptPatience()
    let record = lease.record
    if try record.pay(for: .read) { try await record.letOthersRun() }
    while !listener.isStopped {
      if record.begin(.read) {
        switch try tryToAccept(&patience) {
        case .connection(let socket): return socket
        case .nothing: break
        case .again(let pause):
          record.succeed(.read, mayGoOn: true)
          // The next call may fail as well, and so may all that follow.
          if let pause {
            try await record.loop.pause(for: pause)
          } else if try record.pay(for: .read) {
            try await record.letOthersRun()
          }
          continue
        }
      }
      if try await !record.waitForRequest() { break }
    }
    return nil
  }

  private enum Attempt {
    case connection(Socket)
    /// After a pause, if any.
    case again(after: Duration?)
    case nothing
  }

  private func tryToAccept(_ patience: inout AcceptPatience) throws(ConnectionError) -> Attempt {
    do throws(SocketError) {
      switch try listener.socket.acceptNext() {
      case .connection(let socket, _):
        lease.record.succeed(.read, mayGoOn: true)
        return .connection(socket)
      case .failed: return .again(after: patience.pauseAfterFailure())
      case .nothing:
        patience.reset()
        return .nothing
      }
    } catch  where error.isShortage {
      return .again(after: patience.pauseAfterShortage())
    } catch {
      throw ConnectionError(error)
    }
  }
}

extension Loop {
  /// When so much time has passed; nil for never.
  func deadline(after timeout: Duration?) -> Instant? { timeout.map { now.advanced(by: $0.saturatingNanoseconds) } }

  /// How much time is left; nil for any.
  func timeLeft(until deadline: Instant?) -> Duration? {
    deadline.map { .nanoseconds($0.nanoseconds.subtractingReportingOverflow(now.nanoseconds).partialValue) }
  }

  /// Suspends for a while, at most for the time that is left.
  ///
  /// - Throws: `.wait(.timedOut)` if none is left; as `pause(for:)`.
  nonisolated(nonsending) func pause(for duration: Duration, atMost left: Duration?) async throws(ConnectionError) {
    if let left, left <= .zero { throw .wait(.timedOut) }
    try await pause(for: left.map { min($0, duration) } ?? duration)
  }

  /// Suspends for a while.
  ///
  /// - Throws: `.wait(.cancelled)`, `.wait(.loopEnded)`.
  nonisolated(nonsending) func pause(for duration: Duration) async throws(ConnectionError) {
    do {
      try await clock.sleep(for: duration)
    } catch {
      throw .wait(Task.isCancelled ? .cancelled : .loopEnded)
    }
  }
}
