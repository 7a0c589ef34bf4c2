#if TLS
  internal import CRondoTLS
  internal import RondoSockets

  extension TLSError {
    /// - Parameter host: Whom the peer's certificate has to be of; nil for a server's side.
    init(_ failure: rondo_tls_failure, of host: String?) {
      let text = string(of: failure.text)
      switch UInt32(failure.reason) {
      case RONDO_TLS_NO_MEMORY.rawValue: self = .noMemory
      case RONDO_TLS_TRUNCATED.rawValue: self = .truncated
      case RONDO_TLS_CERTIFICATE.rawValue: self = .certificate(Self.problem(failure.number, text, host))
      case RONDO_TLS_ALERT.rawValue: self = .refused(alert: text)
      default: self = .violation(text)
      }
    }

    private static func problem(_ number: CInt, _ text: String, _ host: String?) -> CertificateProblem {
      switch number {
      case rondo_tls_problem_wrong_host(), rondo_tls_problem_wrong_address(): .wrongHost(expected: host ?? "")
      case rondo_tls_problem_expired(): .expired
      case rondo_tls_problem_not_yet_valid(): .notYetValid
      default: rondo_tls_is_untrusted(number) != 0 ? .untrusted(text) : .other(Int(number), text)
      }
    }
  }
#endif
