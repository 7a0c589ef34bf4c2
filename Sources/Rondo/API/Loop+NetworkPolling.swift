import CLinux
import Glibc

/// A loop's request to the network cards of its sockets, before it sleeps. See epoll(7).
public struct NetworkPolling: Hashable, Sendable {
  /// How long the loop asks for packets before it sleeps, in whole microseconds.
  public let duration: Duration
  /// The most packets that the kernel takes from a card each time.
  public let budget: Int
  /// Whether the cards' interrupts wait while the loop keeps asking.
  public let prefersPolling: Bool

  /// Asks for `duration`, from 1 us to 2,000 s.
  ///
  /// - Parameters:
  ///   - budget: From 1 to 64; up to 65,535 with CAP_NET_ADMIN.
  ///   - prefersPolling: Whether interrupts wait until it stops asking. The card needs `gro_flush_timeout` and
  ///     `napi_defer_hard_irqs` for it.
  public init(_ duration: Duration, budget: Int = 8, prefersPolling: Bool = false) {
    require(.microseconds(1) ... .seconds(2_000) ~= duration, "A loop asks for 1 us to 2,000 s, not \(duration).")
    require(1...65_535 ~= budget, "A budget is from 1 to 65,535 packets, not \(budget).")
    (self.duration, self.budget, self.prefersPolling) = (duration, budget, prefersPolling)
  }
}

/// The reason why a loop does not ask network cards for packets.
public enum NetworkPollingError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kernel is older than Linux 6.9, or was built without busy polling.
  case notSupported
  /// The budget is above 64 and the process lacks CAP_NET_ADMIN.
  case notPermitted
  /// ioctl(2) failed for another reason: errno.
  case refused(errno: CInt)

  /// A sentence with the cause.
  public var description: String {
    switch self {
    case .notSupported: "the kernel does not let an epoll set poll network cards: that is new in Linux 6.9"
    case .notPermitted: "a budget of more than 64 packets needs CAP_NET_ADMIN"
    case .refused(let errno): "the epoll set could not be told to poll network cards: \(describe(errno: errno))"
    }
  }
}

extension Loop {
  /// Has the kernel ask network cards for packets before the loop sleeps; nil ends that. The loop's thread.
  ///
  /// It shortens the way of a packet by an interrupt, for processor time. It concerns sockets whose card supports busy
  /// polling, in all modes of the loop: not loopback, and no Unix-domain sockets. A loop in virtual time ignores it. See
  /// EPIOCSPARAMS in the kernel's napi.rst.
  ///
  /// - Throws: Why nothing is asked.
  public func setNetworkPolling(_ polling: NetworkPolling?) throws(NetworkPollingError) {
    core.assertOwnThread()
    guard let kernel = core.wait.kernel else { return }
    var wanted = rondo_network_polling()
    if let polling {
      let (seconds, attoseconds) = polling.duration.components
      wanted.microseconds = UInt32(seconds * 1_000_000 + attoseconds / 1_000_000_000_000)
      wanted.budget = UInt16(polling.budget)
      wanted.prefers = polling.prefersPolling ? 1 : 0
    }
    for set in kernel.sets {
      guard let epoll = set?.base?.epoll else { continue }
      switch rondo_poll_network(epoll, wanted) {
      case 0: continue
      case ENOTTY, EOPNOTSUPP: throw .notSupported
      case EPERM: throw .notPermitted
      case let errno: throw .refused(errno: errno)
      }
    }
    kernel.networkPolling = wanted
  }

  /// Whether each epoll set of the loop asks as it was told, for tests. The loop's thread.
  package var polledMicroseconds: [UInt32] {
    core.wait.kernel?.sets.compactMap { set in
      var found = rondo_network_polling()
      guard let epoll = set?.base?.epoll, unsafe rondo_network_polling_of(epoll, &found) == 0 else { return nil }
      return found.microseconds
    } ?? []
  }
}
