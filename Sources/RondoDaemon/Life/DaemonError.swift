public import RondoSockets

/// Why a daemon cannot be made: an error in the environment, or a signal.
public enum DaemonError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The value of a variable is not in systemd's format.
  case malformed(variable: String, value: String)
  /// LISTEN_FDS counts more descriptors than the process may have.
  case tooManyDescriptors(Int)
  /// LISTEN_FDS counts a descriptor that is not open.
  case notOpen(CInt)
  /// NOTIFY_SOCKET is no address of a Unix-domain socket.
  case notifyAddress(AddressError)
  /// The socket for notifications to systemd could not be made.
  case notifySocket(SocketError)
  /// A signal of the daemon cannot have a source.
  case signal(SignalError)
  /// Another daemon of this process has the signals, and has not ended.
  case secondDaemon

  /// A sentence with the cause.
  public var description: String {
    switch self {
    case .malformed(let variable, let value): "the environment says \(variable)=\(value), which systemd never says"
    case .tooManyDescriptors(let count): "LISTEN_FDS tells of \(count) descriptors, more than a process may have"
    case .notOpen(let descriptor): "LISTEN_FDS tells of descriptor \(descriptor), which is not open"
    case .notifyAddress(let error): "NOTIFY_SOCKET is no address: \(error)"
    case .notifySocket(let error): "no socket for NOTIFY_SOCKET: \(error)"
    case .signal(let error): "\(error)"
    case .secondDaemon:
      """
      another Daemon of this process has its signals: use that one, wait until its run() has returned, or make this one \
      with claimsSignals: false and call its stop()
      """
    }
  }
}
