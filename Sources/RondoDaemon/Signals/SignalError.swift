import Glibc

/// Why a signal cannot have a source.
public enum SignalError: Error, Hashable, Sendable, CustomStringConvertible {
  /// SIGKILL or SIGSTOP, which no process can handle.
  case uncatchable(CInt)
  /// SIGSEGV, SIGBUS, SIGFPE or SIGILL. After the handler, the faulty instruction would fault again without end.
  case fault(CInt)
  /// No signal has this number, or the C library reserves it.
  case unknown(CInt)
  /// No descriptor is left.
  case exhausted
  /// The kernel has no memory left.
  case noMemory

  /// A sentence with the cause.
  public var description: String {
    switch self {
    case .uncatchable(let signal): "signal \(signal) is SIGKILL or SIGSTOP, which nobody can handle"
    case .fault(let signal): "signal \(signal) tells of a faulty instruction, which would be repeated for ever"
    case .unknown(let signal): "no signal that a program may handle has the number \(signal)"
    case .exhausted: "no descriptor is left for a signal source"
    case .noMemory: "the kernel has no memory left for a signal source"
    }
  }

  /// What sigaction(2) or eventfd(2) meant for a signal by an error.
  init(_ signal: CInt, errno: CInt) {
    switch errno {
    case EMFILE, ENFILE, EBADF: self = .exhausted
    case ENOMEM: self = .noMemory
    default: self = .unknown(signal)
    }
  }

  static func check(_ signal: CInt) throws(SignalError) {
    switch signal {
    case SIGKILL, SIGSTOP: throw .uncatchable(signal)
    case SIGSEGV, SIGBUS, SIGFPE, SIGILL: throw .fault(signal)
    default: break
    }
  }
}
