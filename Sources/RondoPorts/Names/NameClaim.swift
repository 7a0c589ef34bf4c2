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
  private let path: String?
  /// A forked child has the claim's memory, not the claim.
  private let process = getpid()

  init(_ name: MessagePortName) throws(MessagePortError) {
    let address = try name.address
    guard let directory = try name.directory else {
      lock = -1
      path = nil
      listener = try Self.listen(at: address, name)
      return
    }
    let isPrivate = unsafe rondo_is_private_directory(directory)
    if isPrivate < 0 { throw .socket(SocketError(.bind, isPrivate)) }
    if isPrivate == 0 { throw .unsafeDirectory(directory) }
    let path = "\(directory)/\(name.text).port"
    let lock = unsafe rondo_open_locked("\(directory)/\(name.text).lock")
    if lock == -EWOULDBLOCK { throw .nameTaken(name) }
    if lock < 0 { throw .socket(SocketError(.bind, lock)) }
    _ = unsafe unlink(path)
    do {
      listener = try Self.listen(at: address, name)
    } catch {
      _ = Glibc.close(lock)
      throw error
    }
    self.lock = lock
    self.path = path
  }

  deinit {
    if let path, getpid() == process { _ = unsafe unlink(path) }
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
