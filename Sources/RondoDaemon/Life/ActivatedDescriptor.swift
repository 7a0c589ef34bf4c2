import Glibc
public import RondoSockets

/// A descriptor that systemd opened for the process. See systemd.socket(5), sd_listen_fds(3).
///
/// ```swift
/// let activated = try ActivatedDescriptor.all()
/// let door = SocketSource(
///   try activated.first { $0.name == "echo" }?.socket() ?? .listening(at: .loopback()), for: .accept
/// ) { _, event in log.note("\(event)") }
/// ```
public struct ActivatedDescriptor: Hashable, Sendable {
  /// The descriptor's number.
  public let descriptor: CInt
  /// The unit's FileDescriptorName=, or `unknown`.
  public let name: String

  /// The number of the first one: SD_LISTEN_FDS_START.
  static let first = 3
  /// The name of one that was given none.
  static let unnamed = "unknown"

  /// Returns the descriptors that systemd opened for this process; none without systemd. Any thread.
  ///
  /// From then on the descriptors close on exec.
  ///
  /// - Parameter environment: The variables to read; nil for the process's own.
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

  /// Makes a socket that owns the descriptor. Call it once for each descriptor.
  ///
  /// - Throws: `.system` if it is no stream or datagram socket.
  public func socket() throws(SocketError) -> Socket {
    try Socket(owning: descriptor)
  }
}
