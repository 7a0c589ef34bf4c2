import CHTTP

#if NIO
  import Hummingbird
  import HummingbirdTLS
  import Logging
  import NIOPosix
  import NIOSSL

  var logger = Logger(label: "https")
  logger.logLevel = .error
  let router = Router()
  router.get("/") { _, _ in "hello\n" }
  let configuration = TLSConfiguration.makeServerConfiguration(
    certificateChain: try NIOSSLCertificate.fromPEMFile(http_certificate).map { .certificate($0) },
    privateKey: .privateKey(try NIOSSLPrivateKey(file: http_key, format: .pem)))
  let application = Application(
    router: router, server: try .tls(.http1(), tlsConfiguration: configuration),
    configuration: .init(address: .hostname("127.0.0.1", port: Int(http_port()))),
    eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup(numberOfThreads: 1)), logger: logger)
  try await application.run()
#else
  import Glibc

  exit(CInt(http_absent))
#endif
