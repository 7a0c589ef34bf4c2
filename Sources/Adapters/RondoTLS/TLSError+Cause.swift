#if TLS
  internal import Glibc
  internal import NIOSSL
  internal import RondoSockets

  extension TLSError {
    /// - Parameters:
    ///   - certificate: The peer's.
    ///   - host: Whom it has to be of; nil for a server's side.
    init(_ error: any Error, of certificate: NIOSSLCertificate?, as host: String?) {
      switch error {
      case let error as TLSError: self = error
      case NIOSSLError.handshakeFailed(let cause): self.init(cause, of: certificate, as: host)
      case NIOSSLError.uncleanShutdown, BoringSSLError.zeroReturn, BoringSSLError.sslError([.eofDuringHandshake]):
        self = .truncated
      case is NIOSSLExtraError: self = .certificate(.wrongHost(expected: host ?? ""))
      case BoringSSLError.sslError(let stack):
        let texts = stack.map { "\($0)" }
        // What is wrong with a signature comes before it; else the first one is the cause.
        self.init(texts.first { $0.contains("CERTIFICATE_VERIFY_FAILED") } ?? texts.first ?? "", of: certificate)
      default: self = .violation("\(error)")
      }
    }

    /// - Parameter text: "Error: NUMBER error:CODE:SSL routines:OPENSSL_internal:REASON at FILE:LINE".
    private init(_ text: String, of certificate: NIOSSLCertificate?) {
      let name = text.split(separator: "OPENSSL_internal:").last?.split(separator: " ").first ?? ""
      let reason = String(name.lowercased().map { $0 == "_" ? " " : $0 })
      switch reason {
      case "peer did not return a certificate": self = .certificate(.missing)
      case "certificate verify failed":
        let (now, from, to) = (time(nil), certificate?.notValidBefore ?? .min, certificate?.notValidAfter ?? .max)
        self = .certificate(to < now ? .expired : from > now ? .notYetValid : .untrusted)
      case _ where reason.hasPrefix("tlsv1 ") || reason.hasPrefix("sslv3 "):
        let alert = reason.dropFirst(6)
        self = .refused(alert: String(alert.hasPrefix("alert ") ? alert.dropFirst(6) : alert))
      default: self = .violation(reason)
      }
    }
  }
#endif
