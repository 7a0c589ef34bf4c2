import Glibc
public import RondoSockets

extension Daemon {
  /// Removes the file of a Unix-domain listener when the daemon stops. Any thread.
  ///
  /// A listener of another kind, or at an abstract name, has no file. A file that has replaced the listener's own is
  /// not removed.
  public func removeFileWhenStopping(of listener: Socket) {
    guard case .unix(let address) = listener.localAddress, address.place == .file else { return }
    let path = String(decoding: address.bytes, as: UTF8.self)
    guard let own = FileIdentity(path) else { return }
    whenStopping { if FileIdentity(path) == own { _ = unsafe unlink(path) } }
  }
}

/// Which file a name stands for. See stat(2).
private struct FileIdentity: Equatable {
  let device: dev_t
  let number: ino_t

  init?(_ path: String) {
    var information = stat()
    guard unsafe lstat(path, &information) == 0 else { return nil }
    device = information.st_dev
    number = information.st_ino
  }
}
