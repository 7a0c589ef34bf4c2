#if NIO
  internal import NIOCore
  public import RondoSockets

  /// Why a call on a pipeline failed.
  public enum PipelineError: Error {
    /// The connection below failed.
    case connection(ConnectionError)
    /// A handler failed, or refused: its own error.
    case handler(any Error)

    init(_ error: any Error) {
      self = (error as? ConnectionError).map { .connection($0) } ?? .handler(error)
    }
  }

  extension PipelineError: CustomStringConvertible {
    /// A sentence with the cause.
    public var description: String {
      switch self {
      case .connection(let error): "\(error)"
      case .handler(let error): "a handler failed: \(error)"
      }
    }
  }

  /// The last handler before the program gave something else than the pipeline's elements.
  private struct UnexpectedElement: Error, CustomStringConvertible {
    let description: String
  }

  /// The last handler: it keeps what the others let through, for the task that reads.
  final class PipelineEnd<Inbound: Sendable>: ChannelInboundHandler {
    typealias InboundIn = Inbound

    private let onEvent: ((Any) -> Void)?
    /// Called when there is something for the task that waits.
    private let onNews: () -> Void
    private var elements = CircularBuffer<Inbound>()
    private var failure: (any Error)?
    /// Whether nothing more comes.
    private var hasEnded = false
    /// Whether a task waits for what comes next.
    private var isAwaited = false
    /// Bytes that a decoder has not used when it was taken out; nil as long as none is.
    private var bytes: [UInt8]?

    init(_ onEvent: ((Any) -> Void)?, onNews: @escaping () -> Void) {
      self.onEvent = onEvent
      self.onNews = onNews
    }

    enum Next {
      case element(Inbound)
      case failed(any Error)
      case ended
      case nothing
    }

    func next() -> Next {
      if let element = elements.popFirst() { return .element(element) }
      if let failure { return .failed(failure) }
      return hasEnded ? .ended : .nothing
    }

    /// Whether a task that waits would wait for nothing.
    var hasNews: Bool { !elements.isEmpty || failure != nil || hasEnded }

    /// A task waits from now on, or no longer.
    func await(_ isAwaited: Bool) { self.isAwaited = isAwaited }

    func finish() {
      hasEnded = true
      tell()
    }

    /// Keeps the bytes of decoders that are taken out.
    func keepBytes() { bytes = [] }

    /// Takes out the bytes that nothing has decoded.
    func takeBytes() -> [UInt8] {
      elements.compactMap { $0 as? ByteBuffer }.flatMap(\.readableBytesView) + (bytes.take() ?? [])
    }

    private func tell() {
      if isAwaited { onNews() }
      isAwaited = false
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      // The stream ends with its first error.
      if failure != nil { return }
      let core = context.channel._channelCore
      if let element = core.tryUnwrapData(data, as: Inbound.self) {
        elements.append(element)
        tell()
      } else if bytes != nil, let rest = core.tryUnwrapData(data, as: ByteBuffer.self) {
        bytes! += rest.readableBytesView
      } else {
        errorCaught(context: context, error: UnexpectedElement(description: "\(data) came, not \(Inbound.self)"))
      }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      failure = failure ?? error
      tell()
    }

    func channelInactive(context: ChannelHandlerContext) { finish() }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) { onEvent?(event) }
  }
#endif
