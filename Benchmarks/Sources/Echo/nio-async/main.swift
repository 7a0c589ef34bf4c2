import CEcho

#if NIO
  import NIOCore
  import NIOPosix

  let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup(numberOfThreads: 1))
    .bind(CInt(echo_listener)) { channel in
      channel.eventLoop.makeCompletedFuture {
        try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
      }
    }
  try await withThrowingDiscardingTaskGroup { group in
    try await server.executeThenClose { connections in
      for try await connection in connections {
        group.addTask {
          try? await connection.executeThenClose { inbound, outbound in
            for try await bytes in inbound { try await outbound.write(bytes) }
          }
        }
      }
    }
  }
#else
  import Glibc

  exit(CInt(echo_absent))
#endif
