import Glibc

extension Loop {
  /// A descriptor source whose handler hears, too, that the loop gives up on the descriptor.
  ///
  /// For what stands on a descriptor and tells of something else: a socket, a signal, a child. It is called once more
  /// then, with `.givenUp`, on the loop's thread; the source is invalid already and says why.
  package final class ReportedDescriptorSource: DescriptorSource, DelegatingItem, @unchecked Sendable {
    @safe @exclusivity(unchecked) package var delegate: (any ItemDelegate)?
    /// *constant* For the delegate: the loop may give up while another thread invalidates the source.
    private let delegateLock = Lock()

    /// The loop gives up on the descriptor. Calls out.
    override func invalidate(because reason: InvalidationReason) {
      // The invalid source keeps its handler until it has been told.
      holdHandlers()
      defer { unholdHandlers() }
      guard end(because: reason) else { return }
      handler?(self, .givenUp)
      callDelegate()
    }

    override func wasInvalidated() {
      // With a reason, the handler is called first.
      if invalidationReason == nil { callDelegate() }
    }

    private func callDelegate() {
      delegateLock.withLock { delegate.take() }?.itemWasInvalidated(self)
    }
  }
}

extension Loop.DescriptorSource.Readiness {
  /// Not ready, and never again: what a `ReportedDescriptorSource` is told at its end.
  package static let givenUp = Loop.DescriptorSource.Readiness(rawValue: 128)
}

extension Loop.DescriptorSource.InvalidationReason: Error, CustomStringConvertible {
  /// A sentence with the reason.
  public var description: String {
    switch self {
    case .descriptorClosed: "its descriptor was closed behind the loop's back"
    case .mixedTriggers: "another source watches the same descriptor with the other trigger"
    case .refused(let errno): "epoll refuses its descriptor: \(describe(epoll: errno))"
    }
  }

  /// What a system call would have said.
  package var errno: CInt {
    switch self {
    case .descriptorClosed: EBADF
    case .mixedTriggers: EEXIST
    case .refused(let errno): errno
    }
  }
}

/// What epoll_ctl(2) means by an errno.
package func describe(epoll errno: CInt) -> String {
  errno == ENOSPC ? "the user watches as many descriptors as fs.epoll.max_user_watches allows" : describe(errno: errno)
}
