import CHTTP

#if NIO
  import Hummingbird
  import Logging
  import NIOPosix

  var logger = Logger(label: "http")
  logger.logLevel = .error
  let router = Router()
  router.get("/") { _, _ in "hello\n" }
  let application = Application(
    router: router, configuration: .init(address: .hostname("127.0.0.1", port: Int(http_port()))),
    eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup(numberOfThreads: 1)), logger: logger)
  try await application.run()
#else
  import Glibc

  exit(CInt(http_absent))
#endif
