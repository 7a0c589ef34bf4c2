import Glibc
package import Rondo

/// Why a call on a socket failed.
public enum SocketError: Error, Hashable, Sendable {
  /// Another socket listens at the address, or a file of that name exists. Nil if the address is unknown.
  indirect case addressInUse(SocketAddress?)
  /// No process listens at the address. Nil if the address is unknown.
  indirect case refused(SocketAddress?)
  /// There is no such file, or no abstract socket of that name.
  case notFound
  /// The network or the host cannot be reached.
  case unreachable
  /// The time limit has passed.
  case timedOut
  /// The peer closed or reset the connection: ECONNRESET, ECONNABORTED, or EPIPE for sent data.
  case reset
  /// The process, or the system, has no descriptor left: EMFILE, ENFILE.
  case exhausted
  /// The kernel has no memory left for it: ENOMEM, ENOBUFS.
  case noMemory
  /// There is no room in a Unix-domain listener's queue, or for a datagram: EAGAIN.
  case busy
  /// The caller lacks the permission: EACCES or EPERM.
  case notPermitted
  /// The datagram is longer than the socket takes.
  case tooLong
  /// The socket source would keep more bytes than its `queueLimit`.
  case congested
  /// The socket source was invalidated.
  case invalid
  /// Anything else: the system call that failed, and its errno.
  case system(Call, errno: CInt)

  /// A system call.
  public enum Call: String, Sendable {
    case socket, bind, listen, accept, connect, send, receive, shutdown, name, option, poll
  }
}

extension SocketError {
  /// What minus errno means when `call` answered with it.
  ///
  /// - Parameter address: What the call was about, if that is known.
  package init(_ call: Call, _ result: CInt, at address: SocketAddress? = nil) {
    switch -result {
    case EADDRINUSE: self = .addressInUse(address)
    case ECONNREFUSED: self = .refused(address)
    case ENOENT: self = .notFound
    case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN: self = .unreachable
    case ETIMEDOUT: self = .timedOut
    case ECONNRESET, EPIPE, ECONNABORTED: self = .reset
    case EMFILE, ENFILE: self = .exhausted
    case ENOBUFS, ENOMEM: self = .noMemory
    case EACCES, EPERM: self = .notPermitted
    case EMSGSIZE: self = .tooLong
    case EAGAIN where call == .connect: self = .busy
    default: self = .system(call, errno: -result)
    }
  }

  /// Why a loop watches a socket no longer.
  package init(_ reason: Loop.DescriptorSource.InvalidationReason) {
    self = reason.errno == ENOMEM ? .noMemory : .system(.poll, errno: reason.errno)
  }

  /// Whether accepting may succeed when something has become free.
  package var isShortage: Bool { self == .exhausted || self == .noMemory }
}

extension SocketError: CustomStringConvertible {
  /// A sentence with the cause.
  public var description: String {
    switch self {
    case .addressInUse(let address): "the address \(address.map { "\($0) " } ?? "")is in use"
    case .refused(let address): "nobody listens \(address.map { "at \($0)" } ?? "there")"
    case .notFound: "there is no socket of that name"
    case .unreachable: "the host cannot be reached"
    case .timedOut: "the time given is over"
    case .reset: "the peer has gone"
    case .exhausted: "no descriptor is left"
    case .noMemory: "the kernel has no memory left for it"
    case .busy: "there is no room now: the queue is full"
    case .notPermitted: "not permitted"
    case .tooLong: "the datagram is too long"
    case .congested: "too much waits to be sent already"
    case .invalid: "the socket source is invalid"
    case .system(.poll, let errno): "the loop cannot watch the socket: \(describe(epoll: errno))"
    case .system(let call, let errno): "\(call.rawValue) failed: \(describe(errno: errno))"
    }
  }
}
