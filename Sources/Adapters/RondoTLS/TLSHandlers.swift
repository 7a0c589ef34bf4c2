#if TLS
  internal import NIOCore
  internal import NIOSSL
  internal import NIOTLS
  internal import RondoSockets

  /// The last handler: it keeps what the peer has sent. *inside*
  final class TLSEnd: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// *constant*
    private let mayLackNames: Bool
    private var bytes = ByteBuffer()
    /// Whether the handshake was done.
    private(set) var isOpen = false
    private(set) var applicationProtocol: String?
    /// Whether the peer sends no more.
    private(set) var hasEnded = false
    /// What it has sent instead of data.
    private(set) var failure: (any Error)?

    /// - Parameter mayLackNames: Whether the peer's certificate may have no name that NIOSSL can compare.
    init(mayLackNames: Bool) { self.mayLackNames = mayLackNames }

    func take(atMost limit: Int, into inbox: inout [UInt8]) -> Int {
      let count = min(limit, bytes.readableBytes)
      guard let taken = bytes.readSlice(length: count), count > 0 else { return 0 }
      inbox += taken.readableBytesView
      // A connection that waits holds no buffers.
      if bytes.readableBytes == 0 { bytes = ByteBuffer() }
      return count
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { bytes.writeImmutableBuffer(unwrapInboundIn(data)) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { failure = failure ?? error }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      if event as? ChannelEvent == .inputClosed { hasEnded = true }
      guard case .handshakeCompleted(let name)? = event as? TLSUserEvent else { return }
      let certificate = try? context.pipeline.syncOperations.nioSSL_peerCertificate()
      // NIOSSL takes the subject's common name then, which is no host's.
      if !mayLackNames, certificate?._subjectAlternativeNames().isEmpty ?? true {
        failure = NIOSSLExtraError.failedToValidateHostname
      } else {
        (isOpen, applicationProtocol) = (true, name)
      }
    }
  }

  /// Refuses a client whose protocols a server has none of: NIOSSL would go on without a protocol. *inside*
  final class TLSProtocolCheck: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// *constant*
    private let protocols: [String]
    /// Whether the client's first message is still to be examined: a server's side with protocols.
    private var isExamining: Bool
    /// What has come of records, and of their content.
    private var (records, hello) = (ByteBuffer(), ByteBuffer())

    init(_ protocols: [String]) { (self.protocols, isExamining) = (protocols, !protocols.isEmpty) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      if isExamining {
        records.writeImmutableBuffer(unwrapInboundIn(data))
        let offered = offeredProtocols()
        // BoringSSL takes no longer message.
        isExamining = offered == nil && hello.readableBytes < 65_536
        if !isExamining { (records, hello) = (ByteBuffer(), ByteBuffer()) }
        if let offered, !offered.isEmpty, Set(offered).isDisjoint(with: protocols) {
          // An alert that is fatal: no_application_protocol.
          context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: [21, 3, 3, 0, 2, 2, 120])), promise: nil)
          return context.fireErrorCaught(TLSError.violation("no application protocol"))
        }
      }
      context.fireChannelRead(data)
    }

    /// What the client offers, by RFC 8446, section 4.1.2, and RFC 7301; nil while its message has come in part.
    private func offeredProtocols() -> [String]? {
      while let length = records.getInteger(at: records.readerIndex + 3, as: UInt16.self),
        let record = records.readSlice(length: 5 + Int(length))
      {
        // Records of the handshake.
        if record.readableBytesView[0] == 22 { hello.writeBytes(record.readableBytesView.dropFirst(5)) }
      }
      guard let length = hello.getInteger(at: 0, as: UInt32.self),
        var message = hello.getSlice(at: 4, length: Int(length & 0xff_ffff))
      else { return nil }
      // A version and a random number, a session, ciphers and compressions come before the extensions.
      _ = message.readSlice(length: 34)
      _ = message.readLengthPrefixedSlice(as: UInt8.self)
      _ = message.readLengthPrefixedSlice(as: UInt16.self)
      _ = message.readLengthPrefixedSlice(as: UInt8.self)
      var extensions = message.readLengthPrefixedSlice(as: UInt16.self) ?? ByteBuffer()
      while let kind = extensions.readInteger(as: UInt16.self),
        var content = extensions.readLengthPrefixedSlice(as: UInt16.self)
      {
        guard kind == 16, var list = content.readLengthPrefixedSlice(as: UInt16.self) else { continue }
        return Array(AnyIterator { list.readLengthPrefixedSlice(as: UInt8.self).map { String(buffer: $0) } })
      }
      return []
    }
  }
#endif
