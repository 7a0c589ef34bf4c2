import CStart

#if NIO
  import NIOCore
  import NIOPosix

  MultiThreadedEventLoopGroup.withCurrentThreadAsEventLoop { loop in
    loop.scheduleTask(in: .zero) { start_reached() }
  }
#else
  import Glibc

  exit(Int32(start_absent))
#endif
