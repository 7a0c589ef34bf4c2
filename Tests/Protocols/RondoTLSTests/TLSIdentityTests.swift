import Foundation
import Rondo
import RondoSockets
import RondoTLS
import Synchronization
import Testing

/// Certificates of both ends: by name, by request, and those that are replaced.
@Suite(.timeLimit(.minutes(5))) struct TLSIdentityTests {
  // MARK: - A client's

  @Test func `a server that asks for a client's certificate is shown it`() async throws {
    try await withLoop { loop in
      let server = try TLSServerContext(Self.identity("server"), clients: Self.authority)
      let client = try TLSClientContext(trusting: Self.authority, identity: Self.identity("client"))
      let (near, far) = try await secure(Connection.pair(on: loop), client, server)
      try await near.write("hello")
      #expect(try await far.read() == Array("hello".utf8))
      #expect(try far.peerCertificate == Self.der("client") && near.peerCertificate == Self.der("server"))
    }
  }

  @Test func `a server that does not ask is shown none`() async throws {
    try await withLoop { loop in
      let client = try TLSClientContext(trusting: Self.authority, identity: Self.identity("client"))
      let (near, far) = try await secure(Connection.pair(on: loop), client, Certificates.server())
      #expect(try far.peerCertificate == nil && near.peerCertificate == Self.der("server"))
      let plain = try Connection.pair(on: loop).0
      #expect(plain.peerCertificate == nil)
    }
  }

  @Test(
    arguments: [
      (nil, .missing, "certificate required"),
      ("untrusted", .untrusted, "unknown ca"),
      ("expired", .expired, "certificate expired"),
    ] as [(String?, TLSError.CertificateProblem, String)])
  func `a client without a good certificate is refused, and both are told`(
    name: String?, problem: TLSError.CertificateProblem, alert: String
  ) async throws {
    try await withPlain { _, near, far in
      let server = try TLSServerContext(Self.identity("server"), clients: Self.authority)
      let client = try TLSClientContext(trusting: Self.authority, identity: name.map(Self.identity))
      async let refusal = failure { _ = try await far.secured(by: server) }
      // The client's handshake ends before the server has examined the certificate.
      let connection = try await near.secured(as: "rondo.test", by: client)
      let told = await failure { _ = try await connection.read() }
      #expect(await refusal == .tls(.certificate(problem)))
      #expect(told == .tls(.refused(alert: alert)))
    }
  }

  // MARK: - By name

  @Test(arguments: [
    ("rondo.test", "server"), ("one.many.test", "many"), ("two.many.test", "two"), ("127.0.0.1", "server"),
  ]) func `a server shows the certificate of the name that the client asks for`(host: String, shown: String)
    async throws
  {
    try await withLoop { loop in
      let server = try TLSServerContext(
        Self.identity("server"), names: ["*.many.test": Self.identity("many"), "two.many.test": Self.identity("two")])
      let (near, _) = try await secure(Connection.pair(on: loop), as: host, Certificates.client(), server)
      #expect(try near.peerCertificate == Self.der(shown))
    }
  }

  @Test func `a name is compared without regard to case`() async throws {
    try await withLoop { loop in
      let server = try TLSServerContext(Self.identity("server"), names: ["two.many.test": Self.identity("two")])
      let (near, _) = try await secure(Connection.pair(on: loop), as: "TWO.Many.test", Certificates.client(), server)
      #expect(try near.peerCertificate == Self.der("two"))
    }
  }

  // MARK: - Reload

  @Test func `a certificate that is replaced is shown to later connections, and earlier ones stay`() async throws {
    try await withLoop { loop in
      let server = try TLSServerContext(Self.identity("server"))
      let (early, far) = try await secure(Connection.pair(on: loop), Certificates.client(), server)
      server.identity = try Self.identity("renewed")
      server.names = ["one.many.test": try Self.identity("many")]
      let (late, _) = try await secure(Connection.pair(on: loop), Certificates.client(), server)
      let (named, _) = try await secure(Connection.pair(on: loop), as: "one.many.test", Certificates.client(), server)
      #expect(try early.peerCertificate == Self.der("server") && late.peerCertificate == Self.der("renewed"))
      #expect(try named.peerCertificate == Self.der("many"))
      try await early.write("still")
      #expect(try await far.read() == Array("still".utf8))
    }
  }

  @Test func `a client's certificate is replaced, too`() async throws {
    try await withLoop { loop in
      let server = try TLSServerContext(Self.identity("server"), clients: Self.authority)
      let client = try TLSClientContext(trusting: Self.authority)
      client.identity = try Self.identity("client")
      let (_, far) = try await secure(Connection.pair(on: loop), client, server)
      #expect(try far.peerCertificate == Self.der("client"))
    }
  }

  @Test func `certificates are replaced while others shake hands`() async throws {
    try await withLoop { loop in
      let identities = try [Self.identity("server"), Self.identity("renewed")]
      let ders = try [Self.der("server"), Self.der("renewed")]
      let server = try TLSServerContext(identities[0])
      let isOver = Atomic(false)
      let replacing = Task.detached {
        for round in 1... {
          if isOver.load(ordering: .relaxed) { break }
          server.identity = identities[round % 2]
          await Task.yield()
        }
      }
      for _ in 0..<50 {
        let (near, _) = try await secure(Connection.pair(on: loop), Certificates.client(), server)
        #expect(ders.contains(try #require(near.peerCertificate)))
      }
      isOver.store(true, ordering: .relaxed)
      await replacing.value
    }
  }

  // MARK: - PEM in memory

  @Test func `certificates, keys and authorities come from memory as well`() async throws {
    func text(_ name: String) throws -> String { try String(contentsOfFile: Certificates.path(name), encoding: .utf8) }
    let server = try TLSServerContext(TLSIdentity(pem: text("server.pem"), privateKey: text("server.key")))
    let client = try TLSClientContext(trusting: .pem(text("authority.pem")))
    try await withLoop { loop in
      let (near, far) = try await secure(Connection.pair(on: loop), client, server)
      try await near.write("hello")
      #expect(try await far.read() == Array("hello".utf8))
    }
    let reason = "it has no certificate, or a damaged one"
    #expect(throws: TLSError.certificateChain(path: nil, reason: reason)) {
      try TLSIdentity(pem: "", privateKey: text("server.key"))
    }
    #expect(throws: TLSError.privateKey(path: nil, reason: "it has no key, or one with a password")) {
      try TLSIdentity(pem: text("server.pem"), privateKey: text("server.pem"))
    }
    #expect(throws: TLSError.keyMismatch) { try TLSIdentity(pem: text("server.pem"), privateKey: text("many.key")) }
    #expect(throws: TLSError.authorities(path: nil, reason: reason)) { try TLSClientContext(trusting: .pem("none")) }
  }

  // MARK: - Support

  private static let authority = TLSClientContext.Trust.authorities(file: Certificates.path("authority.pem"))

  private static func identity(_ name: String) throws -> TLSIdentity {
    try TLSIdentity(certificateChain: Certificates.path("\(name).pem"), privateKey: Certificates.path("\(name).key"))
  }

  /// The certificate of a file, in DER.
  private static func der(_ name: String) throws -> [UInt8] {
    let lines = try String(contentsOfFile: Certificates.path("\(name).pem"), encoding: .utf8).split(separator: "\n")
    return Array(try #require(Data(base64Encoded: lines.dropFirst().dropLast().joined())))
  }
}
