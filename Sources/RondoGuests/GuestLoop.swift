public import Rondo

extension Loop {
  /// Serves another library's loop from this one, by its descriptor, its timeout and one function.
  ///
  /// It works for each loop that reports its next wait and can be served without sleeping: libuv, sd-event, a bus
  /// client. The loop calls `wait` before each sleep. It calls `dispatch` when the descriptor is ready or the time has
  /// passed:
  ///
  /// ```swift
  /// let guest = try Loop.GuestLoop(
  ///   descriptor: other.descriptor, wait: { .milliseconds(other.timeout()) }, dispatch: { other.serve() })
  /// loop.add(guest, to: .common)
  /// ```
  ///
  /// The guest is in one loop, in one or several modes, and keeps them from being empty: `Loop.stop()` ends their
  /// runs. While it waits, it costs nothing. Use every member on the loop's own thread. See the article
  /// *Beside other loops* of `Rondo`.
  public final class GuestLoop {
    private let turns: GuestTurns

    /// Makes a guest from a descriptor and two functions.
    ///
    /// `dispatch` is a callout like that of a descriptor source or a timer: it may run the loop, or invalidate the
    /// guest. The loop may call it when nothing is ready; it must not sleep. ``invalidate()`` frees both closures.
    ///
    /// - Parameters:
    ///   - descriptor: Ready when the guest has something to serve. Keep it open until the guest is invalid; the guest
    ///     does not close it.
    ///   - isReentrant: Whether the loop may call `dispatch` inside `dispatch`, in a run nested there. If false, that
    ///     run does not serve the guest.
    ///   - wait: Called before each sleep, and once in a turn that only polls. It must not run the loop.
    ///   - dispatch: Serves everything that is due and ready.
    /// - Throws: `.notOpen` for a negative or closed descriptor, `.notPollable` for a regular file or a directory.
    public init(
      descriptor: CInt, for readiness: DescriptorSource.Readiness = .read, order: Int = 0, isReentrant: Bool = false,
      wait: @escaping () -> Wait, dispatch: @escaping () -> Void
    ) throws(DescriptorError) {
      turns = try GuestTurns(descriptor, readiness, order, isReentrant: isReentrant, wait, dispatch)
    }

    deinit { turns.invalidateIfHomeless() }

    /// The next wait of a guest.
    public enum Wait: Hashable, Sendable {
      /// Wait for the descriptor, without a time limit.
      case forever
      /// Wait for the descriptor, but no longer than this. Zero dispatches the guest immediately.
      case atMost(Duration)
      /// Wait for nothing. The loop does not watch the descriptor until `wait` returns something else.
      case nothing

      /// The wait for a timeout of poll(2) in milliseconds: negative is `.forever`.
      public static func milliseconds(_ timeout: CInt) -> Wait {
        timeout < 0 ? .forever : .atMost(.milliseconds(Int64(timeout)))
      }
    }

    /// Whether the loop can still dispatch the guest.
    public var isValid: Bool { turns.source.isValid }

    /// Why the loop gave up on the guest's descriptor, and so on the guest. Nil if it did not.
    public var invalidationReason: DescriptorSource.InvalidationReason? { turns.source.invalidationReason }

    /// Removes the guest from its loop permanently. The loop's own thread; allowed inside `dispatch`.
    public func invalidate() {
      if turns.mayEnd { turns.source.invalidate() }
    }

    fileprivate var mayEnd: Bool { turns.mayEnd }

    fileprivate func enter(_ loop: Loop, _ mode: Mode) -> Bool { turns.enter(loop, mode) }

    fileprivate func exit(_ mode: Mode) { turns.exit(mode) }

    fileprivate var source: DescriptorSource { turns.source }
  }

  /// Adds a guest to a mode, or with `.common` to the common modes. The loop's own thread.
  ///
  /// The loop keeps the guest until you invalidate it or remove it from every mode.
  ///
  /// - Returns: Whether it is a member afterwards: false if it is invalid or in another loop.
  @discardableResult
  public func add(_ guest: GuestLoop, to mode: Mode = .default) -> Bool {
    checkProcess()
    require(
      isCurrent,
      "This loop belongs to \(threadDescription), and so do its guests. Use loop.perform { }, or Loop.current.")
    return guest.enter(self, mode)
  }

  /// Removes a guest from a mode, or with `.common` from the common modes. The loop's own thread.
  public func remove(_ guest: GuestLoop, from mode: Mode = .default) {
    if guest.mayEnd, guest.source.home === self { guest.exit(mode) }
  }

  /// Whether a guest is in a mode. With `.common`, whether it is in the common set.
  public func contains(_ guest: GuestLoop, in mode: Mode = .default) -> Bool {
    contains(guest.source, in: mode)
  }
}
