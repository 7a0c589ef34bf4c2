import COpenSSLPeer
import Glibc
import Rondo
import RondoSockets
import RondoTLS
import Testing

/// What both ends of a TLS connection agree on, and what they refuse.
@Suite(.timeLimit(.minutes(5))) struct TLSTests {
  @Test func `ends agree on a protocol and the newest version`() async throws {
    try await withPlain { _, near, far in
      let (client, server) = try await secure(
        near, far, clientProtocols: ["h3", "http/1.1"], serverProtocols: ["h2", "http/1.1"])
      for end in [client, server] {
        #expect(end.applicationProtocol == "http/1.1" && end.tlsVersion == "TLSv1.3")
      }
      #expect(near.applicationProtocol == nil && near.tlsVersion == nil)
    }
  }

  @Test func `ends without a protocol in common are refused`() async throws {
    let (client, _) = try await failures(clientProtocols: ["h3"], serverProtocols: ["h2"])
    #expect(client == .tls(.refused(alert: "no application protocol")))
  }

  // MARK: - Certificates

  @Test(arguments: ["rondo.test", "one.many.test", "127.0.0.1"]) func `a certificate is good for its hosts`(
    host: String
  ) async throws {
    try await withPlain { _, near, far in
      let (client, server) = try await secure(near, far, as: host)
      try await client.write("hello")
      #expect(try await server.read() == Array("hello".utf8))
    }
  }

  @Test(arguments: ["other.test", "many.test", "a.b.many.test", "127.0.0.2", "::1"])
  func `a certificate of another host is refused, and both are told`(host: String) async throws {
    let (client, server) = try await failures(host: host)
    #expect(client == .tls(.certificate(.wrongHost(expected: host))))
    #expect(client.map { "\($0)" }?.contains(host) == true)
    // NIOSSL compares names after the chain, and has no alert for it: the server's handshake ends.
    #expect(server == .tls(.truncated))
  }

  @Test func `a certificate of the server's address is not good for another name`() async throws {
    try await withLoop { loop in
      let listener = try Listener(at: .loopback())
      let plain = try await Connection.connected(to: listener.address, on: loop)
      let far = try Connection(try #require(try listener.socket.accept()).socket, on: loop)
      let context = try Certificates.server()
      async let server = failure { _ = try await far.secured(by: context) }
      let client = await failure { _ = try await plain.secured(as: "other.test", by: Certificates.client()) }
      #expect(client == .tls(.certificate(.wrongHost(expected: "other.test"))))
      #expect(await server == .tls(.truncated))
    }
  }

  @Test func `a certificate's common name counts for nothing`() async throws {
    let (client, _) = try await failures(host: "named.test", server: "named.test")
    #expect(client == .tls(.certificate(.wrongHost(expected: "named.test"))))
  }

  @Test(arguments: [
    ("expired", TLSError.CertificateProblem.expired, "certificate expired"),
    ("early", .notYetValid, "certificate expired"),
  ])
  func `a certificate out of its time is refused`(
    name: String, problem: TLSError.CertificateProblem, alert: String
  ) async throws {
    let (client, server) = try await failures(server: name)
    #expect(client == .tls(.certificate(problem)))
    #expect(server == .tls(.refused(alert: alert)))
  }

  @Test func `a certificate of a stranger is refused`() async throws {
    let (client, server) = try await failures(server: "untrusted")
    #expect(client == .tls(.certificate(.untrusted)) && server == .tls(.refused(alert: "unknown ca")))
  }

  @Test func `a certificate with a forged signature is refused`() async throws {
    // Another key under the authority's name.
    let directory = Certificates.path("forged")
    try #require(mkdir(directory, 0o700) == 0)
    for (name, hosts, issuer) in [("authority", nil, nil), ("server", "DNS:rondo.test", "authority")] {
      try #require(peer_certificate(directory, name, hosts, -60, 60, issuer, nil) == 0)
    }
    let (client, server) = try await failures(server: "forged/server")
    #expect(client == .tls(.certificate(.untrusted)))
    guard case .tls(.refused)? = server else {
      Issue.record("the server was not told")
      return
    }
  }

  @Test(arguments: [
    "", ".test", ".", "rondo.test.", "a..b", "rondo.test\0.other", "127.0.0.1\0", "*.many.test", "rondo test",
    "röndo.test", "a_b.test",
  ])
  func `a host that no certificate can be checked against leaves the connection as it was`(host: String) async throws {
    try await withPlain { _, near, far in
      let context = try Certificates.client()
      let error = await failure { _ = try await near.secured(as: host, by: context) }
      #expect(error == .tls(.host(host)))
      try await near.write("plain")
      #expect(try await far.read() == Array("plain".utf8))
    }
  }

  // MARK: - Peers that do not speak TLS

  @Test(arguments: ["GET / HTTP/1.0\r\n\r\n", String(repeating: "\0", count: 64)])
  func `a peer that does not speak TLS is told apart`(rubbish: String) async throws {
    try await withPlain { _, near, far in
      try await near.write(rubbish)
      let error = await failure { _ = try await far.secured(by: Certificates.server()) }
      guard case .tls(.violation(let text)) = error else {
        Issue.record("\(String(describing: error)) is not a violation")
        return
      }
      #expect(!text.isEmpty && far.isClosed)
      // BoringSSL sends an alert to what is not HTTP.
      let told = try await everything(from: near)
      #expect(told.first == (rubbish.first == "G" ? nil : 21))
    }
  }

  @Test func `a peer that ends in the handshake is told apart`() async throws {
    try await withPlain { _, near, far in
      try await near.write("\u{16}\u{3}\u{1}")
      try await near.finishWriting()
      let error = await failure { _ = try await far.secured(by: Certificates.server()) }
      #expect(error == .tls(.truncated))
    }
  }

  @Test func `a peer that resets the connection in the handshake is told apart`() async throws {
    try await withLoop { loop in
      let listener = try Socket.listening(at: .loopback())
      let plain = try await Connection.connected(to: listener.localAddress!, on: loop)
      let context = try Certificates.client()
      let client = Task { await failure { _ = try await plain.secured(as: "rondo.test", by: context) } }
      do {
        let accepted = try #require(try listener.accept()).socket
        // Bytes that came and are not read make the kernel reset the connection.
        var byte: UInt8 = 0
        while recv(accepted.descriptor, &byte, 1, CInt(MSG_PEEK)) < 1 { await Task.yield() }
      }
      let error = await client.value
      #expect(error == .socket(.reset))
    }
  }

  // MARK: - Contexts

  @Test func `files that are not what they should be are errors with a reason`() throws {
    func error(_ chain: String, _ key: String) -> TLSError? {
      do {
        _ = try TLSServerContext(certificateChain: Certificates.path(chain), privateKey: Certificates.path(key))
        return nil
      } catch {
        return error
      }
    }
    #expect(error("server.pem", "server.key") == nil)
    let missing = Certificates.path("missing.pem")
    #expect(
      error("missing.pem", "server.key") == .certificateChain(path: missing, reason: "No such file or directory"))
    #expect(error("server.pem", "expired.key") == .keyMismatch)
    guard case .certificateChain(_, let reason) = error("server.key", "server.key") else {
      Issue.record("a key is no certificate")
      return
    }
    #expect(reason == "it has no certificate, or a damaged one")
    // It is not asked for on the terminal.
    guard case .privateKey(let path, _) = error("locked.pem", "locked.key") else {
      Issue.record("a key with a password")
      return
    }
    #expect(path == Certificates.path("locked.key"))
    #expect(
      throws: TLSError.authorities(path: missing, reason: "No such file or directory")
    ) { try TLSClientContext(trusting: .authorities(file: missing)) }
    _ = try TLSClientContext()
  }
}
