import Glibc
import Rondo

/// Why pressure cannot be watched.
public enum PressureError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kernel tells nothing of pressure, or not there. It is too old, made without PSI, or there is no such group.
  case unavailable(String)
  /// The file may not be written, which watching takes: in a container, as a rule.
  case notPermitted(String)
  /// The stall is none, or longer than the window. Or the window is not between 0.5 and 10 seconds.
  case outOfRange(stall: Duration, window: Duration)
  /// The kernel wants windows of even seconds from who has not the capability CAP_SYS_RESOURCE.
  case windowNotPermitted(Duration)
  /// A variable of the environment does not say what systemd says in it.
  case malformed(variable: String, value: String)
  /// The path leads to something else.
  case notPressure(String)
  /// No descriptor is left.
  case exhausted
  /// The kernel has no memory left for it.
  case noMemory
  /// Anything else: errno.
  case system(String, errno: CInt)

  public var description: String {
    switch self {
    case .unavailable(let path): "the kernel tells nothing of pressure at \(path)"
    case .notPermitted(let path): "\(path) may not be written, so pressure cannot be watched"
    case .outOfRange(let stall, let window): "\(stall) of \(window) is no stall of a window from 0.5 to 10 s"
    case .windowNotPermitted(let window):
      "the kernel refuses a window of \(window): without CAP_SYS_RESOURCE it has to be 2, 4, 6, 8 or 10 s"
    case .malformed(let variable, let value): "the environment says \(variable)=\(value), which systemd never says"
    case .notPressure(let path): "\(path) is no file of pressure"
    case .exhausted: "no descriptor is left to watch pressure by"
    case .noMemory: "the kernel has no memory left to watch pressure by"
    case .system(let path, let errno): "pressure cannot be watched at \(path): \(describe(errno: errno))"
    }
  }

  init(_ path: String, _ errno: CInt) {
    switch errno {
    case ENOENT, ENOTDIR, EOPNOTSUPP, ENODEV, ENXIO: self = .unavailable(path)
    case EACCES, EPERM, EROFS: self = .notPermitted(path)
    case EISDIR: self = .notPressure(path)
    case EMFILE, ENFILE, ENOSPC: self = .exhausted
    case ENOMEM: self = .noMemory
    default: self = .system(path, errno: errno)
    }
  }
}
