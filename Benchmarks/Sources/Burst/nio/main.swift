import CBurst

#if NIO
  import NIOCore
  import NIOPosix

  final class Receiver: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>

    private let page = burst_open()

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      unwrapInboundIn(data).data.withUnsafeReadableBytes { burst_took(page, $0.baseAddress, $0.count) }
    }
  }

  // As many datagrams with one call as raw takes.
  let receiver = try DatagramBootstrap(group: MultiThreadedEventLoopGroup(numberOfThreads: 1))
    .channelOption(.datagramVectorReadMessageCount, value: 64)
    .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 64 * Int(burst_room)))
    .channelInitializer { channel in
      channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Receiver()) }
    }
    .withBoundSocket(CInt(burst_socket)).wait()
  try receiver.closeFuture.wait()
#else
  import Glibc

  exit(CInt(burst_absent))
#endif
