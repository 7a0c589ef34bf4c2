import CHTTP

#if NIO
  import HTTPTypes
  import Rondo
  import RondoHTTP
  import RondoMain
  import RondoSockets
  import RondoTLS

  let context = try TLSServerContext(certificateChain: http_certificate, privateKey: http_key)
  let server = HTTPServer { request, response in
    let head = HTTPResponse(status: .ok, headerFields: [.contentType: "text/plain"])
    try await response.send(head, body: Array("hello\n".utf8))
  }
  let listener = try Listener(at: .loopback(port: http_port()))
  try await listener.serve(on: .main) { connection in
    try await server.serve(try await connection.secured(by: context))
  }
#else
  import Glibc

  exit(CInt(http_absent))
#endif
