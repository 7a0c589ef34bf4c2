import Glibc
public import RondoSockets

/// A descriptor that systemd has opened for the process: socket activation. See systemd.socket(5), sd_listen_fds(3).
///
/// ```swift
/// let activated = try ActivatedDescriptor.all()
/// let door = SocketSource(
///   try activated.first { $0.name == "echo" }?.socket() ?? .listening(at: .loopback()), for: .accept
/// ) { _, event in log.note("\(event)") }
/// ```
public struct ActivatedDescriptor: Hashable, Sendable {
  public let descriptor: CInt
  /// FileDescriptorName= of the unit, or `unknown`.
  public let name: String

  /// The number of the first one: SD_LISTEN_FDS_START.
  static let first = 3
  /// The name of one that was given none.
  static let unnamed = "unknown"

  /// The descriptors that systemd has opened for this process; none without systemd. They are closed on exec from now
  /// on. Any thread.
  ///
  /// - Parameter environment: What to look in; nil for the process's own.
  /// - Throws: `.malformed`, `.tooManyDescriptors`, `.notOpen`.
  public static func all(environment: [String: String]? = nil) throws(DaemonError) -> [ActivatedDescriptor] {
    let found = try ServiceEnvironment.descriptors(
      in: environment ?? ServiceEnvironment.own, for: getpid(), limit: descriptorLimit)
    for one in found {
      let flags = fcntl(one.descriptor, F_GETFD)
      guard flags >= 0, fcntl(one.descriptor, F_SETFD, flags | FD_CLOEXEC) == 0 else { throw .notOpen(one.descriptor) }
    }
    return found
  }

  /// The socket, which owns the descriptor from now on: once for each descriptor.
  ///
  /// - Throws: `.system` if it is no stream or datagram socket.
  public func socket() throws(SocketError) -> Socket {
    try Socket(owning: descriptor)
  }
}
