import CHTTP

#if NIO
  import Hummingbird
  import Logging
  import Rondo
  import RondoHTTP
  import RondoHummingbird
  import RondoMain
  import RondoSockets

  var logger = Logger(label: "http")
  logger.logLevel = .error
  let router = Router()
  router.get("/") { _, _ in "hello\n" }
  let listener = try Listener(at: .loopback(port: http_port()))
  try await listener.serveHTTP(on: .main, HTTPServer(responder: router.buildResponder(), logger: logger))
#else
  import Glibc

  exit(CInt(http_absent))
#endif
