import Glibc

extension Socket {
  /// An option by name. See socket(7), tcp(7) and ipv6(7).
  public enum Option: Hashable, Sendable {
    /// Several sockets of one user may listen at one address and share its connections: SO_REUSEPORT. Before it is
    /// bound.
    case reusePort
    /// Small pieces are sent immediately, without a wait for the acknowledgement of others: TCP_NODELAY.
    ///
    /// A stream that this module makes or accepts has it, unless its listener is another program's.
    case noDelay
    /// Small pieces wait for the acknowledgement of those before, and are sent together: no TCP_NODELAY.
    case delay
    /// The kernel probes a silent peer: SO_KEEPALIVE, TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT.
    ///
    /// It sends the first probe after `idle`, then one every `interval`, in whole seconds rounded up. After `probes`
    /// without a reply it ends the connection.
    case keepAlive(after: Duration, every: Duration, probes: Int)
    /// How long sent data may stay unacknowledged: TCP_USER_TIMEOUT, in whole milliseconds rounded up.
    case userTimeout(Duration)
    /// A listener accepts data with connection requests, `queue` at a time: TCP_FASTOPEN.
    case fastOpen(queue: Int)
    /// A connection waits for its first data before it is made: TCP_FASTOPEN_CONNECT.
    ///
    /// A socket source is then `.connected` immediately. If no process listens, the first send fails instead of the
    /// connection.
    case fastOpenConnect
    /// An IPv6 socket takes no IPv4 connections: IPV6_V6ONLY. Before it is bound.
    case onlyIPv6
    /// The room for data sent and not acknowledged: SO_SNDBUF. The kernel doubles it, and limits it.
    case sendBuffer(bytes: Int)
    /// The room for data received and not read: SO_RCVBUF. Before it connects or listens.
    case receiveBuffer(bytes: Int)
  }

  /// Sets an option. See setsockopt(2).
  ///
  /// - Throws: `.notPermitted`, or `.system` if a socket of this family or kind has no such option, or not with this
  ///   value.
  public func set(_ option: Option) throws(SocketError) {
    for (level, name, value) in option.settings { try setOption(level, name, value) }
  }
}

extension Socket.Option {
  /// What setsockopt(2) is told, in order.
  fileprivate var settings: [(level: CInt, name: CInt, value: CInt)] {
    let tcp = CInt(IPPROTO_TCP)
    return switch self {
    case .reusePort: [(SOL_SOCKET, SO_REUSEPORT, 1)]
    case .noDelay: [(tcp, TCP_NODELAY, 1)]
    case .delay: [(tcp, TCP_NODELAY, 0)]
    case .keepAlive(after: let idle, every: let interval, let probes):
      [
        (tcp, TCP_KEEPIDLE, idle.wholeUnits(perSecond: 1)), (tcp, TCP_KEEPINTVL, interval.wholeUnits(perSecond: 1)),
        (tcp, TCP_KEEPCNT, CInt(clamping: probes)), (SOL_SOCKET, SO_KEEPALIVE, 1),
      ]
    case .userTimeout(let time): [(tcp, TCP_USER_TIMEOUT, time.wholeUnits(perSecond: 1000))]
    case .fastOpen(let queue): [(tcp, TCP_FASTOPEN, CInt(clamping: queue))]
    case .fastOpenConnect: [(tcp, TCP_FASTOPEN_CONNECT, 1)]
    case .onlyIPv6: [(CInt(IPPROTO_IPV6), IPV6_V6ONLY, 1)]
    case .sendBuffer(let bytes): [(SOL_SOCKET, SO_SNDBUF, CInt(clamping: bytes))]
    case .receiveBuffer(let bytes): [(SOL_SOCKET, SO_RCVBUF, CInt(clamping: bytes))]
    }
  }
}

extension Duration {
  /// Rounded up, and at most what a C int holds.
  fileprivate func wholeUnits(perSecond: Int64) -> CInt {
    let (seconds, attoseconds) = components
    let unit = 1_000_000_000_000_000_000 / perSecond
    let (whole, isTooMuch) = seconds.multipliedReportingOverflow(by: perSecond)
    return isTooMuch ? (seconds < 0 ? .min : .max) : CInt(clamping: whole + (attoseconds + unit - 1) / unit)
  }
}
