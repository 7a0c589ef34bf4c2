public import RondoSockets

/// What keeps a daemon from being one. It is an environment that says nonsense, or a signal that cannot be had.
public enum DaemonError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A variable of the environment does not say what systemd says in it.
  case malformed(variable: String, value: String)
  /// LISTEN_FDS tells of more descriptors than the process may have.
  case tooManyDescriptors(Int)
  /// LISTEN_FDS tells of a descriptor that is not open.
  case notOpen(CInt)
  /// NOTIFY_SOCKET names no address of a Unix-domain socket.
  case notifyAddress(AddressError)
  /// No socket could be made to tell systemd by.
  case notifySocket(SocketError)
  /// A signal that every daemon has cannot be had.
  case signal(SignalError)
  /// Another daemon of this process has the signals, and has not ended.
  case secondDaemon

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
