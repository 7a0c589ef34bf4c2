import Glibc
import Rondo

/// Why a name has no addresses. See getaddrinfo(3).
public enum LookupError: Error, Hashable, Sendable, CustomStringConvertible {
  /// No host has this name, or it has no address of the family.
  case notFound(String)
  /// The name servers do not reply at present.
  case unavailable(String)
  /// No host can have this name: it is empty, or contains a zero byte.
  case badName(String)
  /// The time limit has passed.
  case timedOut
  /// The resolver has as many waiting lookups as it allows.
  case busy
  /// No thread, memory or descriptor is left.
  case exhausted
  /// The waiting task was cancelled.
  case cancelled
  /// The loop's thread is ending or has ended.
  case loopEnded
  /// Any other error: the code of getaddrinfo(3), and errno if that is EAI_SYSTEM.
  case system(code: CInt, errno: CInt)

  /// A sentence with the cause.
  public var description: String {
    switch self {
    case .notFound(let name): "there is no address of '\(name)'"
    case .unavailable(let name): "nobody answers who would know the address of '\(name)'"
    case .badName(let name): "'\(name)' is no name of a host"
    case .timedOut: "the time given is over"
    case .busy: "too many names are being looked up"
    case .exhausted: "no thread, memory or descriptor is left to look up a name"
    case .cancelled: "cancelled"
    case .loopEnded: "the loop has ended"
    case .system(let code, let errno): "the lookup failed with code \(code), \(describe(errno: errno))"
    }
  }

  init(_ name: String, code: CInt, errno: CInt) {
    // EAI_NODATA, EAI_ADDRFAMILY: the module map of the C library does not show them.
    switch code {
    case EAI_NONAME, -5, -9: self = .notFound(name)
    case EAI_AGAIN, EAI_FAIL: self = .unavailable(name)
    case EAI_MEMORY: self = .exhausted
    case EAI_SYSTEM where errno == EMFILE || errno == ENFILE || errno == ENOMEM: self = .exhausted
    default: self = .system(code: code, errno: errno)
    }
  }
}

extension LookupError: CancellationReporting {
  package var reportsCancellation: Bool { self == .cancelled }
}
