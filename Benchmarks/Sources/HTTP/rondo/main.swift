import CHTTP

#if NIO
  import HTTPTypes
  import Rondo
  import RondoHTTP
  import RondoMain
  import RondoSockets

  let listener = try Listener(at: .loopback(port: http_port()))
  try await listener.serveHTTP(on: .main) { request, response in
    let head = HTTPResponse(status: .ok, headerFields: [.contentType: "text/plain"])
    try await response.send(head, body: Array("hello\n".utf8))
  }
#else
  import Glibc

  exit(CInt(http_absent))
#endif
