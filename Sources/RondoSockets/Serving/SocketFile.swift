internal import CLinux
internal import Glibc

/// The file of a Unix-domain listener, made with it and removed with it. See unix(7).
struct SocketFile: Sendable {
  /// With a zero byte at the end.
  private let path: [UInt8]
  /// Nil for a simulated socket.
  private let identity: Identity?
  /// The process that made the file. A fork's child leaves it.
  private let owner = getpid()

  /// Binds a socket to a path, and listens.
  ///
  /// Of processes that do this in one directory, one is at it at a time: otherwise one might take the file of another,
  /// which is bound and does not listen yet, for a stale one.
  init(
    of socket: Socket, at name: UnixAddress, mode: UInt32, replacesStale: Bool, backlog: Int
  ) throws(SocketError) {
    path = name.bytes + [0]
    if rondo_is_simulated(socket.descriptor) != 0 {
      identity = nil
      try socket.bind(to: .unix(name))
      try socket.listen(backlog: backlog)
      return
    }
    let lock = Self.lockDirectory(of: name)
    defer { if lock >= 0 { close(lock) } }
    // The kernel takes the mode of the file from the socket, less the umask: it never has more than it is to have.
    fchmod(socket.descriptor, mode)
    do throws(SocketError) {
      try socket.bind(to: .unix(name))
    } catch SocketError.addressInUse(let address) {
      guard replacesStale, Self.isStale(path, name) else { throw .addressInUse(address) }
      _ = unsafe unlink(path)
      try socket.bind(to: .unix(name))
    } catch {
      throw error
    }
    // The umask may have taken some.
    _ = unsafe chmod(path, mode)
    identity = Identity(path)
    do throws(SocketError) {
      try socket.listen(backlog: backlog)
    } catch {
      remove()
      throw error
    }
  }

  /// The file that another process has made for a socket, and leaves to this one.
  init(adopting name: UnixAddress) {
    path = name.bytes + [0]
    identity = Identity(path)
  }

  /// Removes the file, unless another has replaced it.
  func remove() {
    guard let identity, owner == getpid(), Identity(path) == identity else { return }
    _ = unsafe unlink(path)
  }

  /// Whether the file is a socket that no process listens at.
  private static func isStale(_ path: [UInt8], _ name: UnixAddress) -> Bool {
    guard let identity = Identity(path), identity.isSocket else { return false }
    do throws(SocketError) {
      _ = try Socket(family: AF_UNIX, .stream).connect(to: .unix(name))
      return false
    } catch {
      if case .refused = error { return true }
      return false
    }
  }

  /// Locks the directory of a name, and returns its descriptor; -1 if that cannot be had.
  ///
  /// A lock that is held for ten seconds is not that of a listener that is being made: the caller goes on without it.
  private static func lockDirectory(of name: UnixAddress) -> CInt {
    var directory = name.bytes.lastIndex(of: UInt8(ascii: "/")).map { Array(name.bytes[...$0]) } ?? [UInt8(ascii: ".")]
    directory.append(0)
    let descriptor = unsafe directory.withUnsafeBytes { bytes in
      unsafe open(bytes.assumingMemoryBound(to: CChar.self).baseAddress!, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    }
    guard descriptor >= 0 else { return -1 }
    for _ in 0..<1_000 where flock(descriptor, LOCK_EX | LOCK_NB) != 0 { usleep(10_000) }
    return descriptor
  }

  /// Which file a name stands for. See stat(2).
  private struct Identity: Equatable {
    let device: dev_t
    let number: ino_t
    let isSocket: Bool

    init?(_ path: [UInt8]) {
      var information = stat()
      let result = unsafe path.withUnsafeBytes { bytes in
        unsafe lstat(bytes.assumingMemoryBound(to: CChar.self).baseAddress!, &information)
      }
      guard result == 0 else { return nil }
      device = information.st_dev
      number = information.st_ino
      isSocket = information.st_mode & S_IFMT == S_IFSOCK
    }
  }
}
