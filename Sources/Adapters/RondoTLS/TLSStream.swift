#if TLS
  internal import CRondoTLS
  internal import Rondo
  internal import RondoSockets

  /// OpenSSL between a connection and what carries its bytes. It writes a record at a time, and reads what has come.
  @safe final class TLSStream: TransportLayer, @unchecked Sendable {
    // Unchecked because of the fields under the lock.

    /// The most bytes that one record takes.
    private static let mostSent = 16_384
    /// The most bytes that are received for one attempt to read.
    private static let mostReceived = 65_536
    /// How often one attempt receives.
    private static let mostRounds = 4
    /// The most bytes that wait to be sent while more is read: several records, for a reader that answers.
    ///
    /// What the peer sends makes output without a write, as requests for new keys do, and the peer may read none of it.
    private static let mostUnsent = 65_536

    /// *constant*
    private let carrier: Transport
    /// *constant* Whom the peer's certificate has to be of; nil for a server's side.
    private let host: String?
    /// *constant* OpenSSL asks it while the stream lives.
    private let context: TLSContextHandle
    /// *constant* C's half, which is used under the lock.
    private let pointer: UnsafeMutableRawPointer
    /// *its own lock* What the peer has sent and OpenSSL has not taken.
    private let received: Inbox
    /// *its own lock* Whether the carrier has ended.
    @safe @exclusivity(unchecked) private var hasEnded = false
    /// *constant* Outside the carrier's and the readiness record's. Held across no callout.
    private let lock = Lock()
    /// *its own lock* Whether the handshake was done.
    @safe @exclusivity(unchecked) private var isOpen = false
    /// *its own lock* How many bytes of the write are in a record that the carrier has not taken wholly.
    @safe @exclusivity(unchecked) private var uncounted = 0
    /// *its own lock* Whether this side has ended its sending, and whether it was closed.
    @safe @exclusivity(unchecked) private var hasFinished = false
    @safe @exclusivity(unchecked) private var hasClosed = false
    /// *its own lock* Why nothing can be sent. What the peer has sent may say more, and can still be read.
    @safe @exclusivity(unchecked) private var sendFailure: ConnectionError?

    init(
      over carrier: Transport, received: Inbox, as host: String?, by context: TLSContextHandle
    ) throws(ConnectionError) {
      self.carrier = carrier
      self.received = received
      self.host = host
      self.context = context
      guard let made = unsafe rondo_tls_stream_new(context.pointer, host) else {
        throw .tls(.noMemory)
      }
      unsafe pointer = made
    }

    deinit {
      close()
      unsafe rondo_tls_stream_free(pointer)
    }

    // MARK: - The handshake

    /// Shakes hands, as the only task that uses the connection.
    nonisolated(nonsending) func shakeHands(on connection: Connection) async throws(ConnectionError) {
      // What was received before may be all that comes for now: no edge tells of it.
      _ = try shake()
      while true {
        let (isDone, isFlushed) = lock.withLock { (isOpen, flush()) }
        if !isFlushed {
          _ = try await connection.move(.write, after: .wait) { () throws(ConnectionError) in
            lock.withLock { flush() } ? .moved(0, mayGoOn: true) : .blocked
          }
        } else if isDone {
          break
        } else {
          // Others have their turn: a peer may send records that do not end the handshake.
          _ = try await connection.move(.read, after: .turn) { () throws(ConnectionError) in try shake() }
        }
      }
      // The last bytes of the handshake may have come with others.
      carrier.input?.record.succeed(.read, mayGoOn: true)
    }

    /// Goes on with the handshake until it is done, or there is something to wait for.
    private func shake() throws(ConnectionError) -> Transfer {
      while true {
        let outcome = try unsafe advance { input in unsafe rondo_tls_stream_shake(pointer, &input) }
        if outcome == RONDO_TLS_BROKEN { throw failure }
        // The peer has said goodbye instead.
        if outcome == RONDO_TLS_ENDED { throw .tls(.truncated) }
        let isFlushed = lock.withLock {
          if outcome == RONDO_TLS_DONE { isOpen = true }
          return flush()
        }
        if !isFlushed || outcome != RONDO_TLS_WANTS { return .moved(0, mayGoOn: true) }
        if try !receiveMore() { return .blocked }
      }
    }

    // MARK: - Reading

    func receive(limit: Int, into inbox: inout [UInt8]) throws(ConnectionError) -> Transfer {
      let limit = min(limit, Self.mostReceived)
      let before = inbox.count
      var hasMoved = false
      for _ in 0..<Self.mostRounds {
        if isHeldUp { return .blocked }
        let outcome = unsafe try withUnsafeMutablePointer(to: &inbox) { inbox throws(ConnectionError) in
          try unsafe advance { input in
            unsafe rondo_tls_stream_read(
              pointer, &input, limit, { unsafe append($1, $2, to: $0) }, inbox)
          }
        }
        let count = inbox.count - before
        // A failure, or the end, is found again by the next attempt.
        if count > 0 { return .moved(count, mayGoOn: true) }
        if outcome == RONDO_TLS_ENDED { return .end }
        if outcome == RONDO_TLS_PAUSED { return .moved(0, mayGoOn: true) }
        if outcome != RONDO_TLS_WANTS { throw failure }
        if try !receiveMore() {
          // A record that comes slowly is no idleness.
          if hasMoved { carrier.input?.record.moved() }
          return .blocked
        }
        hasMoved = true
      }
      return .moved(0, mayGoOn: true)
    }

    /// Whether so much waits to be sent that nothing is read. The next room for it ends the reader's wait.
    private var isHeldUp: Bool {
      if lock.withLock({ unsent <= Self.mostUnsent }) { return false }
      // First, so that no edge is lost.
      carrier.output?.record.shareNextEdge(with: carrier.input, for: .read)
      return lock.withLock { !flush() && unsent > Self.mostUnsent }
    }

    /// Has OpenSSL take from what was received, and sends what it makes of that.
    private func advance(_ call: (inout rondo_tls_input) -> CInt) throws(ConnectionError) -> rondo_tls_outcome {
      lock.lock()
      defer { lock.unlock() }
      if hasClosed { throw .closed }
      var outcome = RONDO_TLS_WANTS
      received.consume { bytes in
        unsafe bytes.withUnsafeBytes { bytes in
          var input = unsafe rondo_tls_input(
            bytes: bytes.baseAddress, count: bytes.count, has_ended: hasEnded ? 1 : 0)
          outcome = rondo_tls_outcome(rawValue: UInt32(unsafe call(&input)))
          return unsafe bytes.count - input.count
        }
      }
      _ = flush()
      return outcome
    }

    /// Receives from the carrier, if that has more.
    private func receiveMore() throws(ConnectionError) -> Bool {
      lock.lock()
      defer { lock.unlock() }
      if hasClosed { throw .closed }
      let transfer = try received.fill { inbox throws(ConnectionError) in
        try carrier.receive(limit: Self.mostReceived, into: &inbox)
      }
      switch transfer {
      case .moved: break
      case .end: hasEnded = true
      case .blocked:
        received.shrink()
        return false
      }
      return true
    }

    /// Why OpenSSL has failed. Not under the lock.
    private var failure: ConnectionError {
      let (failure, sendFailure) = lock.withLock { (unsafe rondo_tls_stream_failure(pointer), self.sendFailure) }
      let error = TLSError(failure, of: host)
      // The kernel tells of a reset once, and then of the end.
      return error == .truncated ? sendFailure ?? .tls(error) : .tls(error)
    }

    // MARK: - Writing

    func send(_ bytes: RawSpan) throws(ConnectionError) -> Transfer {
      if let transfer = try sendUncounted() { return transfer }
      let record = bytes.extracting(first: Self.mostSent)
      while true {
        let outcome = try unsafe advance { input in
          let outcome = unsafe record.withUnsafeBytes {
            unsafe rondo_tls_stream_write(pointer, &input, $0.baseAddress, $0.count)
          }
          if outcome == RONDO_TLS_DONE.rawValue { uncounted = record.byteCount }
          return outcome
        }
        switch outcome {
        case RONDO_TLS_DONE: return try sendUncounted() ?? .blocked
        case RONDO_TLS_PAUSED: return .moved(0, mayGoOn: true)
        case RONDO_TLS_ENDED: throw .socket(.reset)
        case RONDO_TLS_WANTS: break
        default: throw failure
        }
        // A message of the peer's has come in part, and no task may be reading. First, so that no edge is lost.
        carrier.input?.record.shareNextEdge(with: carrier.output, for: .write)
        if try !receiveMore() { return .blocked }
      }
    }

    func sendUncounted() throws(ConnectionError) -> Transfer? {
      lock.lock()
      defer { lock.unlock() }
      if hasClosed { throw .closed }
      if hasFinished { throw .socket(.reset) }
      let isFlushed = flush()
      if let sendFailure {
        uncounted = 0
        throw sendFailure
      }
      if !isFlushed { return .blocked }
      if uncounted == 0 { return nil }
      defer { uncounted = 0 }
      return .moved(uncounted, mayGoOn: true)
    }

    var hasUncounted: Bool { lock.withLock { uncounted > 0 } }

    /// How many bytes that OpenSSL has made wait. *under the lock*
    private var unsent: Int {
      var count = 0
      _ = unsafe rondo_tls_stream_output(pointer, &count)
      return count
    }

    /// Sends what OpenSSL has made. *under the lock*
    ///
    /// - Returns: Whether that was all.
    private func flush() -> Bool {
      var count = 0
      while true {
        let bytes = unsafe UnsafeRawBufferPointer(start: rondo_tls_stream_output(pointer, &count), count: count)
        if count == 0 { return true }
        do throws(ConnectionError) {
          if let sendFailure { throw sendFailure }
          guard case .moved(let sent, let mayGoOn) = try carrier.send(unsafe bytes.bytes) else { return false }
          unsafe rondo_tls_stream_sent(pointer, sent)
          if !mayGoOn {
            carrier.output?.record.moved()
            return sent == count
          }
        } catch {
          sendFailure = error
          unsafe rondo_tls_stream_sent(pointer, count)
        }
      }
    }

    // MARK: - Ends

    func finish() throws(ConnectionError) -> Bool {
      lock.lock()
      defer { lock.unlock() }
      if hasClosed { throw .closed }
      hasFinished = true
      unsafe rondo_tls_stream_finish(pointer)
      let isFlushed = flush()
      if let sendFailure { throw sendFailure }
      return isFlushed
    }

    func close() {
      let wasClosed = lock.withLock {
        if hasClosed { return true }
        hasClosed = true
        unsafe rondo_tls_stream_finish(pointer)
        // A write may be short, and no loop sends the rest.
        var before = 0
        repeat { before = unsent } while !flush() && unsent < before
        return false
      }
      if !wasClosed { carrier.close() }
    }

    // MARK: - What was agreed

    var applicationProtocol: String? {
      lock.withLock {
        var length: UInt32 = 0
        guard let name = unsafe rondo_tls_stream_protocol(pointer, &length) else { return nil }
        return unsafe String(decoding: UnsafeBufferPointer(start: name, count: Int(length)), as: UTF8.self)
      }
    }

    var version: String { lock.withLock { unsafe String(cString: rondo_tls_stream_version(pointer)) } }
  }
#endif
