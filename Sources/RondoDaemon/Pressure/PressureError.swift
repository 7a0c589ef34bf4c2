import Glibc
import Rondo

/// Why pressure cannot be watched.
public enum PressureError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kernel does not report pressure. It is too old, made without PSI, or has no such group.
  case unavailable(String)
  /// The caller lacks the permission to write the file. Containers usually forbid it.
  case notPermitted(String)
  /// The stall or the window is out of range. A stall is more than zero and at most the window of 0.5 to 10 s.
  case outOfRange(stall: Duration, window: Duration)
  /// Without the capability CAP_SYS_RESOURCE, a window must be a multiple of 2 s.
  case windowNotPermitted(Duration)
  /// The value of a variable is not in systemd's format.
  case malformed(variable: String, value: String)
  /// The path is no pressure file.
  case notPressure(String)
  /// No descriptor is left.
  case exhausted
  /// The kernel has no memory left.
  case noMemory
  /// Any other error: errno.
  case system(String, errno: CInt)

  /// A sentence with the cause.
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
