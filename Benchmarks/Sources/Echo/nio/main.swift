import CEcho

#if NIO
  import NIOCore
  import NIOPosix

  final class Echo: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      context.write(data, promise: nil)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
      context.flush()
    }
  }

  let server = try ServerBootstrap(group: MultiThreadedEventLoopGroup(numberOfThreads: 1))
    .childChannelInitializer { channel in
      channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Echo()) }
    }
    .withBoundSocket(CInt(echo_listener)).wait()
  try server.closeFuture.wait()
#else
  import Glibc

  exit(CInt(echo_absent))
#endif
