#if TLS
  internal import NIOCore
  internal import NIOSSL
  internal import Rondo
  internal import RondoNIO
  internal import RondoSockets

  /// NIOSSL's handler between a connection and what carries its bytes. It writes a record at a time.
  ///
  /// What the peer sends makes no output after the handshake: BoringSSL answers a request for new keys in the next write.
  final class TLSStream: TransportLayer, @unchecked Sendable {
    // Unchecked because of the fields inside, which the channel's lock guards.

    /// The most bytes that one record takes, and that the handler is given at once: it keeps buffers of their size.
    private static let recordLength = 16_384
    /// The most bytes that are received for one attempt to read.
    private static let mostReceived = 65_536
    /// How often one attempt receives.
    private static let mostRounds = 4

    /// *constant*
    private let carrier: Transport
    /// *constant* Whom the peer's certificate has to be of; nil for a server's side.
    private let host: String?
    /// *the reader* What the peer has sent and the handler has not been given.
    private let received: Inbox
    /// *the reader* Whether the carrier has ended.
    private var hasCarrierEnded = false
    /// *constant* Its lock is outside the carrier's and the readiness record's.
    private let channel: PipelineChannel
    private let handler: NIOSSLHandler
    private let end: TLSEnd
    /// *inside* What is to be sent to the peer, from `sent` on.
    private var unsent: [UInt8] = []
    private var sent = 0
    /// *inside* How many bytes of the write are in a record that the carrier has not taken wholly.
    private var uncounted = 0
    /// *inside* Whether this side has ended its sending, and whether it was closed.
    private var hasFinished = false
    private var hasClosed = false
    /// *inside* Why nothing can be sent. What the peer has sent may say more, and can still be read.
    private var sendFailure: ConnectionError?

    init(
      over carrier: Transport, _ received: Inbox, on loop: Loop, _ handler: NIOSSLHandler, as host: String? = nil,
      at peer: NIOCore.SocketAddress? = nil, known protocols: [String] = []
    ) {
      (self.carrier, self.received, self.handler, self.host) = (carrier, received, handler, host)
      end = TLSEnd(mayLackNames: host == nil)
      channel = PipelineChannel(on: loop, bufferLimit: Self.mostReceived, peer: peer)
      channel.attend {
        let handlers: [any ChannelHandler] = [TLSProtocolCheck(protocols), handler, end]
        // Only a closed channel refuses them.
        try! channel.pipeline.syncOperations.addHandlers(handlers)
        channel.begin()
      }
    }

    deinit { close() }

    // MARK: - The handshake

    /// Shakes hands, as the only task that uses the connection.
    nonisolated(nonsending) func shakeHands(on connection: Connection) async throws(ConnectionError) {
      // What was received before may be all that comes for now: no edge tells of it.
      _ = try shake()
      while true {
        let (isDone, isFlushed) = channel.attend { (end.isOpen, flush()) }
        if !isFlushed {
          _ = try await connection.move(.write, after: .wait) { () throws(ConnectionError) in
            channel.attend { flush() } ? .moved(0, mayGoOn: true) : .blocked
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
        let isOver = try channel.attend { () throws(ConnectionError) in
          let isFlushed = flush()
          try check()
          return end.isOpen || !isFlushed
        }
        if isOver { return .moved(0, mayGoOn: true) }
        if received.count == 0, try !receiveMore() { return .blocked }
        advance()
      }
    }

    // MARK: - Reading

    func receive(limit: Int, into inbox: inout [UInt8]) throws(ConnectionError) -> Transfer {
      for round in 0..<Self.mostRounds {
        let (count, hasEnded) = try channel.attend { () throws(ConnectionError) in
          let count = end.take(atMost: limit, into: &inbox)
          // A failure, or the end, is found by the next attempt.
          if count == 0 { try check() }
          return (count, end.hasEnded)
        }
        if count > 0 { return .moved(count, mayGoOn: true) }
        if hasEnded { return .end }
        if received.count == 0, try !receiveMore() {
          // A record that comes slowly is no idleness.
          if round > 0 { carrier.input?.record.moved() }
          return .blocked
        }
        advance()
      }
      return .moved(0, mayGoOn: true)
    }

    /// Gives the handler of what was received, or the end, and sends what it makes of that.
    private func advance() {
      channel.attend {
        if hasCarrierEnded, received.count == 0 { return channel.receiveEnd() }
        received.consume { bytes in
          let bytes = bytes.extracting(first: Self.recordLength)
          channel.receive(bytes.buffer)
          // The handler still has what came before a failure.
          if channel.hasClosed { channel.pipeline.syncOperations.fireChannelReadComplete() }
          return bytes.byteCount
        }
      }
      // Not in the call before: the handler goes on at its end with a certificate that it asked for.
      channel.attend { _ = flush() }
    }

    /// Receives from the carrier, if that has more.
    private func receiveMore() throws(ConnectionError) -> Bool {
      let transfer = try received.fill { inbox throws(ConnectionError) in
        try carrier.receive(limit: Self.mostReceived, into: &inbox)
      }
      switch transfer {
      case .moved: break
      case .end: hasCarrierEnded = true
      case .blocked:
        received.shrink()
        return false
      }
      return true
    }

    /// Throws why the stream is of no use any more. *inside*
    private func check() throws(ConnectionError) {
      if hasClosed { throw .closed }
      guard let failure = end.failure else { return }
      let error = TLSError(failure, of: handler.peerCertificate, as: host)
      // The kernel tells of a reset once, and then of the end.
      throw error == .truncated ? sendFailure ?? .tls(error) : .tls(error)
    }

    // MARK: - Writing

    func send(_ bytes: RawSpan) throws(ConnectionError) -> Transfer {
      if let transfer = try sendUncounted() { return transfer }
      channel.attend {
        let record = bytes.extracting(first: Self.recordLength)
        uncounted = record.byteCount
        channel.pipeline.syncOperations.writeAndFlush(NIOAny(record.buffer), promise: nil)
      }
      return try sendUncounted() ?? .blocked
    }

    func sendUncounted() throws(ConnectionError) -> Transfer? {
      try channel.attend { () throws(ConnectionError) in
        try check()
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
    }

    var hasUncounted: Bool { channel.attend { uncounted > 0 } }

    /// Sends what the handler has made. *inside*
    ///
    /// - Returns: Whether that was all.
    private func flush() -> Bool {
      if channel.hasOutput {
        // The program ends the connection.
        _ = channel.takeEnd()
        let output = channel.takeOutput()
        unsent = unsent.isEmpty ? output.bytes : unsent + output.bytes
        channel.complete(output)
      }
      while sent < unsent.count {
        do throws(ConnectionError) {
          if let sendFailure { throw sendFailure }
          let transfer = try carrier.send(unsafe unsent.span.bytes.extracting(sent...))
          guard case .moved(let count, let mayGoOn) = transfer else { return false }
          sent += count
          if !mayGoOn {
            carrier.output?.record.moved()
            return sent == unsent.count
          }
        } catch {
          (sendFailure, sent) = (error, unsent.count)
        }
      }
      (unsent, sent) = ([], 0)
      return true
    }

    // MARK: - Ends

    func finish() throws(ConnectionError) -> Bool {
      try channel.attend { () throws(ConnectionError) in
        if hasClosed { throw .closed }
        sayGoodbye()
        let isFlushed = flush()
        if let sendFailure { throw sendFailure }
        return isFlushed
      }
    }

    /// *inside*
    private func sayGoodbye() {
      if end.isOpen && !hasFinished { channel.pipeline.close(mode: .output, promise: nil) }
      hasFinished = true
    }

    func close() {
      let wasClosed = channel.attend {
        if hasClosed { return true }
        hasClosed = true
        sayGoodbye()
        // A write may be short, and no loop sends the rest.
        var before = 0
        repeat { before = sent } while !flush() && sent > before
        channel.detach()
        return false
      }
      if !wasClosed { carrier.close() }
    }

    // MARK: - What was agreed

    var applicationProtocol: String? { channel.attend { end.applicationProtocol } }

    var version: String { channel.attend { handler.tlsVersion == .tlsv13 ? "TLSv1.3" : "TLSv1.2" } }

    var peerCertificate: [UInt8]? { channel.attend { try? handler.peerCertificate?.toDERBytes() } }
  }

  extension RawSpan {
    fileprivate var buffer: ByteBuffer { unsafe withUnsafeBytes { unsafe ByteBuffer(bytes: $0) } }
  }
#endif
