import CLinux
import Glibc
import RondoSockets

/// A name that is ours, with the socket that listens there; given back with the last reference.
///
/// An abstract name goes with its socket. A file would outlive a process that was killed: the holder of the lock on the
/// file beside it owns the name, and may remove what a dead owner left. The kernel unlocks when the owner dies, and
/// the lock file itself is never removed, so two claimants never hold locks on two different files.
final class NameClaim: Sendable {
  let listener: Socket
  /// The lock's descriptor; -1 for an abstract name.
  private let lock: CInt
  /// The directory, and the socket's name there; nil for an abstract name.
  private let file: (directory: SafeDirectory, name: String)?
  /// A forked child has the claim's memory, not the claim.
  private let process = getpid()

  init(_ name: MessagePortName) throws(MessagePortError) {
    let address = try name.address
    guard let path = try name.directory else {
      lock = -1
      file = nil
      listener = try Self.listen(at: address, name)
      return
    }
    let file = "\(name.text).port"
    var lock: CInt = -1
    let directory = try SafeDirectory(path) { directory throws(MessagePortError) in
      lock = unsafe rondo_open_locked(directory, "\(name.text).lock")
      if lock == -EWOULDBLOCK { throw .nameTaken(name) }
      if lock < 0 { throw .socket(SocketError(.bind, lock)) }
      // What a dead owner left is a socket: a directory, say, stays, and is no owner.
      let error = unsafe rondo_remove(directory, file)
      if error < 0 {
        _ = Glibc.close(lock)
        throw .socket(SocketError(.bind, error))
      }
    }
    do throws(MessagePortError) {
      listener = try Self.listen(at: address, name)
      if !directory.isThere { throw .unsafeDirectory(path) }
    } catch {
      _ = Glibc.close(lock)
      throw error
    }
    self.lock = lock
    self.file = (directory, file)
  }

  deinit {
    if let file, getpid() == process { file.directory.remove(file.name) }
    if lock >= 0 { _ = Glibc.close(lock) }
  }

  private static func listen(at address: SocketAddress, _ name: MessagePortName) throws(MessagePortError) -> Socket {
    do {
      return try Socket.listening(at: address)
    } catch .addressInUse {
      throw .nameTaken(name)
    } catch {
      throw .socket(error)
    }
  }
}

/// A directory in which only this user or root names files, as it was looked at: its path may lead elsewhere since. It
/// takes a descriptor for the length of a call.
private struct SafeDirectory {
  private let path: String
  private let (device, inode): (dev_t, ino_t)

  /// - Parameter body: Given the directory's descriptor.
  init(_ path: String, _ body: (CInt) throws(MessagePortError) -> Void) throws(MessagePortError) {
    let directory = unsafe rondo_open_safe(path, geteuid(), 0)
    if directory == -EPERM { throw .unsafeDirectory(path) }
    if directory < 0 { throw .socket(SocketError(.bind, directory)) }
    defer { _ = Glibc.close(directory) }
    var status = stat()
    _ = unsafe fstat(directory, &status)
    self.path = path
    (device, inode) = (status.st_dev, status.st_ino)
    try body(directory)
  }

  private func isSame(_ status: stat) -> Bool { status.st_dev == device && status.st_ino == inode }

  /// Whether the path leads to it.
  var isThere: Bool {
    var status = stat()
    return unsafe stat(path, &status) == 0 && isSame(status)
  }

  /// Removes a file, if the path still leads there. Without a descriptor for that it stays, and the next owner removes it.
  func remove(_ name: String) {
    let directory = unsafe rondo_open_safe(path, geteuid(), 0)
    guard directory >= 0 else { return }
    var status = stat()
    if unsafe fstat(directory, &status) == 0, isSame(status) { _ = unsafe rondo_remove(directory, name) }
    _ = Glibc.close(directory)
  }
}
