#if TLS
  public import Rondo
  public import RondoSockets

  /// What went wrong with a TLS connection, or with what it needs.
  public enum TLSError: Error, Hashable, Sendable {
    /// The file with the certificate and those that vouch for it is wrong.
    case certificateChain(path: String, reason: String)
    /// The file with the private key is not what it should be. One that needs a password cannot be used.
    case privateKey(path: String, reason: String)
    /// The key is not that of the chain's first certificate.
    case keyMismatch(certificateChain: String, privateKey: String)
    /// The file of authorities to trust is wrong; nil for the system's.
    case authorities(path: String?, reason: String)
    /// The host is no address and no name of DNS in ASCII.
    case host(String)
    /// The peer's certificate was refused here.
    case certificate(CertificateProblem)
    /// The peer refused to go on, with this alert of RFC 8446, section 6. It may not trust us, for one.
    case refused(alert: String)
    /// What the peer sent is not TLS, or not as it should be.
    case violation(String)
    /// The peer has closed the connection without close_notify: what it sent may have been cut.
    case truncated
    /// The network's part of it: it could not be made, or is over.
    case connection(SocketError)
    /// The handshake was not over after this time.
    case handshakeTimedOut(after: Duration)
    /// No byte has moved for this time.
    case idle(for: Duration)
    /// More than this many bytes would wait to be sent. None was taken.
    case queueFull(limit: Int)
    /// `finishSending` was called before.
    case sendingFinished
    /// The connection is over.
    case invalid
    /// The loop has no descriptors for libevent's events.
    case noEventBase(Loop.EventBaseError)
    /// There is no memory for it.
    case noMemory

    /// Why a certificate is not good enough.
    public enum CertificateProblem: Hashable, Sendable {
      /// It is of somebody else.
      case wrongHost(expected: String)
      case expired
      case notYetValid
      /// Nobody who is trusted vouches for it.
      case untrusted(String)
      /// Anything else: a number of X509_verify_cert(3), and what it means.
      case other(Int, String)
    }
  }

  extension TLSError: CustomStringConvertible {
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
      case .connection(let error): "\(error)"
      case .handshakeTimedOut(let limit): "the handshake was not over after \(limit)"
      case .idle(let limit): "nothing has moved for \(limit)"
      case .queueFull(let limit): "more than \(limit) bytes would wait to be sent"
      case .sendingFinished: "sending was finished before"
      case .invalid: "the connection is over"
      case .noEventBase(let error): "\(error)"
      case .noMemory: "there is no memory for it"
      }
    }
  }

  extension TLSError.CertificateProblem: CustomStringConvertible {
    public var description: String {
      switch self {
      case .wrongHost(let expected): "it is not \(expected)'s"
      case .expired: "it has expired"
      case .notYetValid: "it is not valid yet"
      case .untrusted(let text), .other(_, let text): text
      }
    }
  }
#endif
