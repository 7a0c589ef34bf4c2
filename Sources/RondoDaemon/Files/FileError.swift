import Glibc
import Rondo

/// Why a file or path cannot be watched.
public enum FileError: Error, Hashable, Sendable, CustomStringConvertible {
  /// There is nothing at the path.
  case notFound(String)
  /// The path, or a directory on the way, may not be read.
  case notPermitted(String)
  /// A path cannot contain a zero byte, or be empty.
  case containsZero(String)
  /// The user has as many watches as fs.inotify.max_user_watches allows.
  case tooManyWatches
  /// No descriptor is left, or no instance: fs.inotify.max_user_instances.
  case exhausted
  /// The kernel has no memory left for it.
  case noMemory
  /// The loop cannot watch what tells of the path: errno of epoll_ctl(2).
  case unwatched(String, errno: CInt)
  /// Anything else: errno.
  case system(String, errno: CInt)

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
