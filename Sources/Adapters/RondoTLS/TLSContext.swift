#if TLS
  internal import Glibc
  internal import NIOCore
  internal import NIOSSL
  internal import Rondo
  public import RondoSockets
  internal import Synchronization

  /// A certificate chain with its private key, by which an end is known.
  public struct TLSIdentity: Sendable {
    fileprivate var override = NIOSSLContextConfigurationOverride()

    /// Reads an identity from two files in PEM.
    ///
    /// - Parameters:
    ///   - certificateChain: The path of the certificate, followed by its intermediate certificates.
    ///   - privateKey: The path of the key of the first certificate, without a password.
    /// - Throws: `.certificateChain`, `.privateKey`, `.keyMismatch`.
    public init(certificateChain: String, privateKey: String) throws(TLSError) {
      try self.init(.file(certificateChain), .file(privateKey))
    }

    /// Makes an identity of PEM in memory. Else as ``init(certificateChain:privateKey:)``.
    public init(pem certificateChain: String, privateKey: String) throws(TLSError) {
      try self.init(.text(certificateChain), .text(privateKey))
    }

    private init(_ chain: PEM, _ key: PEM) throws(TLSError) {
      let certificates = try chain.certificates { .certificateChain(path: $0, reason: $1) }
      let bytes = try key.bytes { .privateKey(path: $0, reason: $1) }
      // Without a password's callback BoringSSL asks the terminal.
      guard
        let key = try? NIOSSLPrivateKey(
          bytes: bytes, format: .pem, passphraseCallback: { (_: (String.UTF8View) -> Void) in })
      else { throw .privateKey(path: key.path, reason: "it has no key, or one with a password") }
      override.certificateChain = certificates.map { .certificate($0) }
      override.privateKey = .privateKey(key)
      let trial = TLSConfiguration.makeServerConfiguration(
        certificateChain: override.certificateChain!, privateKey: override.privateKey!)
      do { _ = try NIOSSLContext(configuration: trial) } catch { throw .keyMismatch }
    }
  }

  /// The certificates and the protocols that a server's connections share. Any thread.
  ///
  /// Renegotiation is off. TLS 1.2 is the oldest version.
  public final class TLSServerContext: Sendable {
    let context: NIOSSLContext
    let protocols: [String]
    private let identities: Identities

    /// Makes a server context from a certificate and a key, both files in PEM.
    ///
    /// - Throws: As ``TLSIdentity/init(certificateChain:privateKey:)``.
    public convenience init(certificateChain: String, privateKey: String, protocols: [String] = []) throws(TLSError) {
      try self.init(TLSIdentity(certificateChain: certificateChain, privateKey: privateKey), protocols: protocols)
    }

    /// Makes a server context.
    ///
    /// - Parameters:
    ///   - identity: What clients are shown that ask for no name below.
    ///   - names: What is shown for names of the server's: in lower case, or `*.` before a domain for all names in it.
    ///   - protocols: ALPN names in order of preference. The server refuses a client that offers only others.
    ///   - clients: Whose certificate a client must show; nil if it needs none.
    /// - Throws: `.authorities`.
    public init(
      _ identity: TLSIdentity, names: [String: TLSIdentity] = [:], protocols: [String] = [],
      clients: TLSClientContext.Trust? = nil
    ) throws(TLSError) {
      let identities = Identities(identity, names)
      (self.identities, self.protocols) = (identities, protocols)
      context = try NIOSSLContext(
        protocols, clients, checking: clients == nil ? .none : .noHostnameVerification, identities)
    }

    /// What clients are shown whose handshake begins later. Set it to reload a certificate.
    public var identity: TLSIdentity {
      get { identities.value.withLock { $0.own! } }
      set { identities.value.withLock { $0.own = newValue } }
    }

    /// The certificates for names of the server's, in handshakes that begin later.
    public var names: [String: TLSIdentity] {
      get { identities.value.withLock { $0.named } }
      set { identities.value.withLock { $0.named = newValue } }
    }
  }

  /// The trusted authorities and the protocols that a client's connections share. Any thread.
  public final class TLSClientContext: Sendable {
    let context: NIOSSLContext
    private let identities: Identities

    /// The authorities whose certificates an end of a connection accepts.
    public enum Trust: Hashable, Sendable {
      /// The distribution's, in /etc/ssl/certs or /etc/pki/tls/certs.
      case system
      /// Only the authorities in this PEM file.
      case authorities(file: String)
      /// Only the authorities in this PEM.
      case pem(String)
    }

    /// Makes a client context. Its connections check the server's certificate and name.
    ///
    /// - Parameters:
    ///   - identity: What a server is shown that asks for a certificate.
    ///   - protocols: ALPN names in order of preference.
    /// - Throws: `.authorities`.
    public init(
      trusting trust: Trust = .system, identity: TLSIdentity? = nil, protocols: [String] = []
    ) throws(TLSError) {
      identities = Identities(identity, [:])
      context = try NIOSSLContext(protocols, trust, checking: .fullVerification, identities)
    }

    /// What servers are shown whose handshake begins later.
    public var identity: TLSIdentity? {
      get { identities.value.withLock { $0.own } }
      set { identities.value.withLock { $0.own = newValue } }
    }
  }

  private final class Identities: Sendable {
    let value: Mutex<(own: TLSIdentity?, named: [String: TLSIdentity])>

    init(_ own: TLSIdentity?, _ named: [String: TLSIdentity]) { value = Mutex((own, named)) }

    func override(for name: String?) -> NIOSSLContextConfigurationOverride {
      let name = name?.lowercased() ?? ""
      let domain = name.drop { $0 != "." }
      return value.withLock { $0.named[name] ?? $0.named["*\(domain)"] ?? $0.own }?.override ?? .noChanges
    }
  }

  extension NIOSSLContext {
    fileprivate convenience init(
      _ protocols: [String], _ trust: TLSClientContext.Trust?, checking verification: CertificateVerification,
      _ identities: Identities
    ) throws(TLSError) {
      let areNames = protocols.allSatisfy { 1...255 ~= $0.utf8.count && $0.utf8.allSatisfy { $0 < 0x80 } }
      require(areNames, "ALPN names a protocol in 1 to 255 ASCII characters, as 'h2' or 'http/1.1': \(protocols).")
      var configuration = TLSConfiguration.makeClientConfiguration()
      configuration.minimumTLSVersion = .tlsv12
      configuration.certificateVerification = verification
      configuration.applicationProtocols = protocols
      configuration.sslContextCallback = { $1.succeed(identities.override(for: $0.serverHostname)) }
      let pem: PEM? =
        switch trust {
        case nil, .system: nil
        case .authorities(let file): .file(file)
        case .pem(let text): .text(text)
        }
      if let pem {
        configuration.trustRoots = .certificates(try pem.certificates { .authorities(path: $0, reason: $1) })
        // A client need not say whom it trusts.
        configuration.sendCANameList = verification == .noHostnameVerification
      }
      do {
        try self.init(configuration: configuration)
      } catch {
        throw .authorities(path: pem?.path, reason: "\(error)")
      }
    }
  }

  /// PEM in a file or in memory.
  private enum PEM {
    case file(String)
    case text(String)

    var path: String? { if case .file(let path) = self { path } else { nil } }

    func bytes(orThrow failure: (String?, String) -> TLSError) throws(TLSError) -> [UInt8] {
      if case .text(let text) = self { return Array(text.utf8) }
      guard let path, let file = unsafe fopen(path, "re") else {
        throw failure(path, unsafe String(cString: strerror(errno)))
      }
      defer { unsafe fclose(file) }
      var (bytes, room): ([UInt8], [UInt8]) = ([], Array(repeating: 0, count: 4_096))
      while case let count = unsafe fread(&room, 1, room.count, file), count > 0 { bytes += room[..<count] }
      return bytes
    }

    func certificates(orThrow failure: (String?, String) -> TLSError) throws(TLSError) -> [NIOSSLCertificate] {
      let bytes = try bytes(orThrow: failure)
      guard let certificates = try? NIOSSLCertificate.fromPEMBytes(bytes) else {
        throw failure(path, "it has no certificate, or a damaged one")
      }
      return certificates
    }
  }
#endif
