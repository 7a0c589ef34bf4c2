import Rondo
import RondoSockets
import RondoTLS
import Synchronization
import Testing

// The examples of RondoTLS.md, servers, with clients for them. `ExampleTextTests` compares the two texts.

@Suite struct TLSDocumentationExamplesTests {
  private final class Log: Sendable {
    private let notes = Mutex<[String]>([])
    func note(_ text: String) { notes.withLock { $0.append(text) } }
    var text: String { notes.withLock { $0.joined(separator: ", ") } }
  }

  @Test func `RondoTLS: a server and its client`() async throws {
    let (chain, key) = (Certificates.path("server.pem"), Certificates.path("server.key"))
    let (authorities, address) = (Certificates.path("authority.pem"), SocketAddress.loopback())
    try await withLoop { loop in
      let (listener, serving) = try Self.serve(at: address, on: loop, chain, key)
      let log = Log()
      try await Self.connect(to: listener.address, on: loop, authorities, log)
      #expect(log.text == "hello")
      serving.cancel()
      try await serving.value
    }
  }

  @Test func `RondoTLS: certificates by name, of clients, and replaced`() async throws {
    let (chain, key) = (Certificates.path("server.pem"), Certificates.path("server.key"))
    let authorities = Certificates.path("authority.pem")
    let many = try TLSIdentity(
      certificateChain: Certificates.path("many.pem"), privateKey: Certificates.path("many.key"))
    let context = try TLSServerContext(
      TLSIdentity(certificateChain: chain, privateKey: key), names: ["*.many.test": many],
      clients: .authorities(file: authorities))
    let client = try TLSClientContext(trusting: .authorities(file: authorities), identity: many)
    try await withLoop { loop in
      let (_, far) = try await secure(Connection.pair(on: loop), as: "one.many.test", client, context)
      let shown = try #require(far.peerCertificate)
      try Self.reload(context, Certificates.path("renewed.pem"), Certificates.path("renewed.key"))
      let (near, _) = try await secure(Connection.pair(on: loop), client, context)
      #expect(near.peerCertificate != shown && near.peerCertificate != nil)
    }
  }

  private static func reload(_ context: TLSServerContext, _ chain: String, _ key: String) throws {
    context.identity = try TLSIdentity(certificateChain: chain, privateKey: key)
  }

  private static func serve(
    at address: SocketAddress, on loop: Loop, _ chain: String, _ key: String
  ) throws -> (Listener, Task<Void, any Error>) {
    let context = try TLSServerContext(certificateChain: chain, privateKey: key)
    let listener = try Listener(at: address)
    let serving = Task {
      try await listener.serve(on: loop) { connection in
        let connection = try await connection.secured(by: context)
        for try await bytes in connection { try await connection.write(bytes) }
      }
    }
    return (listener, serving)
  }

  private static func connect(
    to address: SocketAddress, on loop: Loop, _ authorities: String, _ log: Log
  ) async throws {
    let trust = try TLSClientContext(trusting: .authorities(file: authorities))
    let plain = try await Connection.connected(to: address, on: loop)
    let connection = try await plain.secured(as: "rondo.test", by: trust)
    try await connection.write("hello")
    try await connection.finishWriting()
    for try await bytes in connection { log.note(String(decoding: bytes, as: UTF8.self)) }
  }
}
