import CLinux
public import Rondo

/// Idle limits that do not cut clients that are not idle.
///
/// Timers go before descriptors in a turn. After a stall of the whole process, or a long callout, a plain timeout is
/// therefore due while what the client sent long ago is still unread, and cuts a client that was never idle. These look
/// at the descriptor before they fire: what waits there for its source, in a direction that the source is told of, is
/// activity, and the time begins again.
extension Loop {
  /// Makes a timeout of `limit` that does not fire while data waits for `source`. The loop's thread.
  ///
  /// When you serve the source, arm it again as every timeout: `loop.arm(idle, after: limit)`. When the time has
  /// passed, it makes one poll(2). Readiness that the source is not enabled for is no activity: a client that does not
  /// read is idle if you have stopped reading from it.
  ///
  /// - Parameters:
  ///   - mode: The mode whose runs fire it, or `.common`.
  ///   - tolerance: How much later it may fire so that the loop can share wakeups. Not negative.
  ///   - handler: Called when the time has passed and no data waits, or the source is invalid.
  public func makeIdleTimeout(
    of source: DescriptorSource, after limit: Duration, tolerance: Duration = .zero, in mode: Mode = .default,
    handler: @escaping () -> Void
  ) -> Timeout {
    makeIdleTimeout(limit, tolerance, mode, { source.hasSomethingWaiting }, handler)
  }

  /// Makes a timeout of `limit` for a socket source. The loop's thread.
  public func makeIdleTimeout(
    of source: SocketSource, after limit: Duration, tolerance: Duration = .zero, in mode: Mode = .default,
    handler: @escaping () -> Void
  ) -> Timeout {
    makeIdleTimeout(limit, tolerance, mode, { source.loopItem?.hasSomethingWaiting ?? false }, handler)
  }

  private func makeIdleTimeout(
    _ limit: Duration, _ tolerance: Duration, _ mode: Mode, _ isActive: @escaping () -> Bool,
    _ handler: @escaping () -> Void
  ) -> Timeout {
    let own = Own()
    let timeout = makeTimeout(after: limit, tolerance: tolerance, in: mode) { [unowned self] in
      if isActive() {
        arm(own.timeout!, after: limit)
      } else {
        handler()
      }
    }
    own.timeout = timeout
    return timeout
  }

  /// What a timeout's handler gets to know after it was made.
  private final class Own {
    var timeout: Timeout?
  }
}

extension Loop.DescriptorSource {
  /// Whether the source would be told of something right now: one poll(2) for each direction it is told of.
  fileprivate var hasSomethingWaiting: Bool {
    guard isValid else { return false }
    return enabled.contains(.read) && rondo_is_ready(descriptor, 0) != 0
      || enabled.contains(.write) && rondo_is_ready(descriptor, 1) != 0
  }
}
