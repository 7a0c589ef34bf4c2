#if TLS
  internal import CRondoTLS
  internal import Rondo
  public import RondoSockets

  /// The certificate and the protocols that a server's connections share. Any thread.
  ///
  /// To replace the certificate, make a new context. Connections keep the context they began with. Renegotiation is off.
  public final class TLSServerContext: Sendable {
    let handle: TLSContextHandle

    /// Makes a server context from a certificate and a key, both files in PEM.
    ///
    /// The call reads both files.
    ///
    /// - Parameters:
    ///   - certificateChain: The path of the server's certificate, followed by its intermediate certificates.
    ///   - privateKey: The path of the key of the first certificate, without a password.
    ///   - protocols: ALPN names in order of preference. The server refuses a client that offers only others.
    /// - Throws: `.certificateChain`, `.privateKey`, `.keyMismatch`, `.noMemory`.
    public init(certificateChain: String, privateKey: String, protocols: [String] = []) throws(TLSError) {
      var refusal = rondo_tls_refusal()
      let protocols = TLSContextHandle.encode(protocols)
      let pointer = unsafe rondo_tls_server_context(
        certificateChain, privateKey, protocols, UInt32(protocols.count), &refusal)
      guard let pointer = unsafe pointer else {
        let reason = refusal.reason
        switch UInt32(refusal.what) {
        case RONDO_TLS_REFUSED_CHAIN.rawValue: throw .certificateChain(path: certificateChain, reason: reason)
        case RONDO_TLS_REFUSED_KEY.rawValue: throw .privateKey(path: privateKey, reason: reason)
        case RONDO_TLS_REFUSED_PAIR.rawValue:
          throw .keyMismatch(certificateChain: certificateChain, privateKey: privateKey)
        default: throw .noMemory
        }
      }
      handle = unsafe TLSContextHandle(pointer)
    }
  }

  /// The trusted authorities and the protocols that a client's connections share. Any thread.
  public final class TLSClientContext: Sendable {
    let handle: TLSContextHandle

    /// The authorities whose certificates a client accepts.
    public enum Trust: Hashable, Sendable {
      /// OpenSSL's default files. SSL_CERT_FILE and SSL_CERT_DIR replace them.
      case system
      /// Only the authorities in this PEM file.
      case authorities(file: String)
    }

    /// Makes a client context. Its connections check the server's certificate and name.
    ///
    /// - Parameter protocols: ALPN names in order of preference.
    /// - Throws: `.authorities`, `.noMemory`.
    public init(trusting trust: Trust = .system, protocols: [String] = []) throws(TLSError) {
      var refusal = rondo_tls_refusal()
      let protocols = TLSContextHandle.encode(protocols)
      let path: String? = if case .authorities(let file) = trust { file } else { nil }
      let pointer = unsafe rondo_tls_client_context(path, protocols, UInt32(protocols.count), &refusal)
      guard let pointer = unsafe pointer else {
        let isFile = UInt32(refusal.what) == RONDO_TLS_REFUSED_AUTHORITIES.rawValue
        if isFile { throw .authorities(path: path, reason: refusal.reason) }
        throw .noMemory
      }
      handle = unsafe TLSContextHandle(pointer)
    }
  }

  /// OpenSSL's SSL_CTX, which counts its references, and what goes with it. Any thread.
  @safe final class TLSContextHandle: @unchecked Sendable {
    /// *constant* OpenSSL locks what is in it.
    let pointer: UnsafeMutableRawPointer

    @unsafe init(_ pointer: UnsafeMutableRawPointer) {
      unsafe self.pointer = pointer
    }

    deinit { unsafe rondo_tls_context_free(pointer) }

    /// As ALPN writes them: each after a byte with its length.
    static func encode(_ protocols: [String]) -> [UInt8] {
      let bytes = protocols.flatMap { name in
        require(
          1...255 ~= name.utf8.count, "ALPN names a protocol in 1 to 255 bytes, as 'h2' or 'http/1.1', not '\(name)'.")
        return [UInt8(name.utf8.count)] + Array(name.utf8)
      }
      require(bytes.count <= 65_535, "ALPN has room for 65,535 bytes of names, not for \(bytes.count).")
      return bytes
    }
  }

  extension rondo_tls_refusal {
    fileprivate var reason: String { string(of: text) }
  }

  /// What stands in one of C's arrays of characters, up to the zero.
  func string<Characters>(of characters: Characters) -> String {
    unsafe withUnsafeBytes(of: characters) { bytes in
      unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  }
#endif
