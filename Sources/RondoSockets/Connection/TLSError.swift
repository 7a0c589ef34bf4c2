internal import Rondo

/// An error of a TLS connection or a TLS context of `RondoTLS`.
///
/// It is here for `ConnectionError.tls`. Without `RondoTLS` no call throws it.
public enum TLSError: Error, Hashable, Sendable {
  /// The file of the certificate chain cannot be used.
  case certificateChain(path: String, reason: String)
  /// The file of the private key cannot be used, or the key has a password.
  case privateKey(path: String, reason: String)
  /// The private key does not belong to the chain's first certificate.
  case keyMismatch(certificateChain: String, privateKey: String)
  /// The file of trusted authorities cannot be used; a nil path is the system's.
  case authorities(path: String?, reason: String)
  /// The host is neither an IP address nor a DNS name in ASCII.
  case host(String)
  /// This side refused the peer's certificate.
  case certificate(CertificateProblem)
  /// The peer ended the connection with an alert of RFC 8446, section 6.
  case refused(alert: String)
  /// The peer's data violates the protocol; the text is OpenSSL's reason.
  case violation(String)
  /// The peer closed the connection without close_notify. Its data may be incomplete.
  case truncated
  /// No memory is available.
  case noMemory

  /// Why a certificate was refused.
  public enum CertificateProblem: Hashable, Sendable {
    /// The certificate is for another host.
    case wrongHost(expected: String)
    /// The certificate is no longer valid.
    case expired
    /// The certificate is not valid yet.
    case notYetValid
    /// The certificate's chain does not end at a trusted authority.
    case untrusted(String)
    /// Another code of X509_verify_cert(3), with its text.
    case other(Int, String)
  }
}

extension TLSError: CustomStringConvertible {
  /// A sentence with the cause.
  public var description: String {
    switch self {
    case .certificateChain(let path, let reason): "no certificate chain in \(path): \(reason)"
    case .privateKey(let path, let reason): "no private key in \(path): \(reason)"
    case .keyMismatch(let chain, let key): "the key in \(key) is not that of the certificate in \(chain)"
    case .authorities(let path, let reason): "no authorities in \(path ?? "the system's files"): \(reason)"
    case .host(let name): "\(name.debugDescription) is no host's name in ASCII and no address"
    case .certificate(let problem): "the peer's certificate was refused: \(problem)"
    case .refused(let alert): "the peer refused to go on: \(alert)"
    case .violation(let text): "the peer does not keep to TLS: \(text)"
    case .truncated: "the peer closed the connection without saying that it was done"
    case .noMemory: "there is no memory for it"
    }
  }
}

extension TLSError.CertificateProblem: CustomStringConvertible {
  /// A sentence with the cause.
  public var description: String {
    switch self {
    case .wrongHost(let expected): "it is not \(expected)'s"
    case .expired: "it has expired"
    case .notYetValid: "it is not valid yet"
    case .untrusted(let text), .other(_, let text): text
    }
  }
}
