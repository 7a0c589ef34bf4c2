internal import Rondo

/// An error of a TLS connection or a TLS context of `RondoTLS`.
///
/// It is here for `ConnectionError.tls`. Without `RondoTLS` no call throws it.
public enum TLSError: Error, Hashable, Sendable {
  /// The certificate chain cannot be used; its path is nil for PEM from memory.
  case certificateChain(path: String?, reason: String)
  /// The private key cannot be used, or has a password. Its path is nil for PEM from memory.
  case privateKey(path: String?, reason: String)
  /// The private key does not belong to the chain's first certificate.
  case keyMismatch
  /// The trusted authorities cannot be used. The path is nil for the system's, and for PEM from memory.
  case authorities(path: String?, reason: String)
  /// The host is neither an IP address nor a DNS name in ASCII.
  case host(String)
  /// This side refused the peer's certificate.
  case certificate(CertificateProblem)
  /// The peer ended the connection with an alert of RFC 8446, section 6.
  case refused(alert: String)
  /// The peer's data violates the protocol; the text is BoringSSL's reason.
  case violation(String)
  /// The peer closed the connection without close_notify. Its data may be incomplete.
  case truncated

  /// Why a certificate was refused.
  public enum CertificateProblem: Hashable, Sendable {
    /// The certificate is for another host.
    case wrongHost(expected: String)
    /// The certificate is no longer valid.
    case expired
    /// The certificate is not valid yet.
    case notYetValid
    /// The certificate's chain does not end at a trusted authority, or forbids this use.
    case untrusted
    /// The peer has sent no certificate.
    case missing
  }
}

extension TLSError: CustomStringConvertible {
  /// A sentence with the cause.
  public var description: String {
    switch self {
    case .certificateChain(let path, let reason): "no certificate chain in \(path ?? "memory"): \(reason)"
    case .privateKey(let path, let reason): "no private key in \(path ?? "memory"): \(reason)"
    case .keyMismatch: "the key is not that of the certificate"
    case .authorities(let path, let reason): "no authorities in \(path ?? "memory or the system's files"): \(reason)"
    case .host(let name): "\(name.debugDescription) is no host's name in ASCII and no address"
    case .certificate(let problem): "the peer's certificate was refused: \(problem)"
    case .refused(let alert): "the peer refused to go on: \(alert)"
    case .violation(let text): "the peer does not keep to TLS: \(text)"
    case .truncated: "the peer closed the connection without saying that it was done"
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
    case .untrusted: "no trusted authority vouches for it"
    case .missing: "it did not come"
    }
  }
}
