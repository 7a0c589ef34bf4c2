import Glibc
import Rondo

/// Why a file or path cannot be watched.
public enum FileError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The path does not exist.
  case notFound(String)
  /// The caller may not read the path, or not search a directory of it.
  case notPermitted(String)
  /// The path contains a zero byte, or is empty.
  case containsZero(String)
  /// The user has as many watches as fs.inotify.max_user_watches allows.
  case tooManyWatches
  /// No descriptor is left, or no instance: fs.inotify.max_user_instances.
  case exhausted
  /// The kernel has no memory left.
  case noMemory
  /// The loop cannot watch the descriptor of inotify: errno of epoll_ctl(2).
  case unwatched(String, errno: CInt)
  /// Any other error: errno.
  case system(String, errno: CInt)

  /// A sentence with the cause.
  public var description: String {
    switch self {
    case .notFound(let path): "there is nothing at \(path)"
    case .notPermitted(let path): "\(path) may not be read"
    case .containsZero(let path): "'\(path)' is no path"
    case .tooManyWatches: "the user has as many watches as fs.inotify.max_user_watches allows"
    case .exhausted: "no descriptor is left, or the user has fs.inotify.max_user_instances of inotify's"
    case .system(let path, let errno): "\(path) cannot be watched: \(describe(errno: errno))"
    case .noMemory: "the kernel has no memory left to watch a path"
    case .unwatched(let path, let errno): "\(path) cannot be watched: \(describe(epoll: errno))"
    }
  }

  init(_ path: String, _ errno: CInt) {
    switch errno {
    case ENOENT, ENOTDIR: self = .notFound(path)
    case EACCES, EPERM: self = .notPermitted(path)
    case ENOSPC: self = .tooManyWatches
    case EMFILE, ENFILE: self = .exhausted
    case ENOMEM: self = .noMemory
    default: self = .system(path, errno: errno)
    }
  }
}
