extension Loop {
  /// Another library's loop as the guest of this one. It is a descriptor, a timeout, and a call that serves both.
  ///
  /// Any loop will do that can be asked what it waits for, and be served without sleeping: libuv's, sd-event's, a bus
  /// client's. Before each sleep the loop asks; when the descriptor is ready, or the time is over, it dispatches:
  ///
  /// ```swift
  /// let guest = try Loop.GuestLoop(
  ///   descriptor: other.descriptor, wait: { .milliseconds(other.timeout()) }, dispatch: { other.serve() })
  /// loop.add(guest, to: .common)
  /// ```
  ///
  /// The guest is in one loop, in one or several modes, and keeps them from being empty: ``Loop/stop()`` ends their runs.
  /// While it waits, it costs nothing. Everything belongs on the loop's own thread. See <doc:BesideOtherLoops>.
  public final class GuestLoop {
    private let turns: GuestTurns

    /// A guest that is dispatched when its descriptor is ready or its time is over.
    ///
    /// `dispatch` is a callout like any other, of a descriptor source or a timer: it may run the loop, or invalidate the
    /// guest. It may be called for nothing and must not sleep. Both closures are let go of by ``invalidate()``.
    ///
    /// - Parameters:
    ///   - descriptor: What it waits by. It stays the caller's, who keeps it open until the guest is invalid.
    ///   - isReentrant: Whether it can be dispatched inside its own dispatch, by a run nested there. If it cannot, that
    ///     run leaves it alone.
    ///   - wait: Asked before each sleep, and once in a turn that only looks. It must not run the loop.
    ///   - dispatch: Serves what is due and ready.
    /// - Throws: `.notOpen` for a negative or closed descriptor, `.notPollable` for a regular file or a directory.
    public init(
      descriptor: CInt, for readiness: DescriptorSource.Readiness = .read, order: Int = 0, isReentrant: Bool = false,
      wait: @escaping () -> Wait, dispatch: @escaping () -> Void
    ) throws(DescriptorError) {
      turns = try GuestTurns(descriptor, readiness, order, isReentrant: isReentrant, wait, dispatch)
    }

    deinit { turns.invalidateIfHomeless() }

    /// What a guest waits for.
    public enum Wait: Hashable, Sendable {
      /// Its descriptor, however long that takes.
      case forever
      /// Its descriptor, but no longer than this. Zero to be dispatched at once.
      case atMost(Duration)
      /// Nothing at all: until it says otherwise, its descriptor is not looked at.
      case nothing

      /// As poll(2) is told: less than 0 is forever.
      public static func milliseconds(_ timeout: CInt) -> Wait {
        timeout < 0 ? .forever : .atMost(.milliseconds(Int64(timeout)))
      }
    }

    /// Whether it can still be dispatched.
    public var isValid: Bool { turns.source.isValid }

    /// Why the loop has given up on the guest's descriptor, and so on the guest. Nil if it has not.
    public var invalidationReason: DescriptorSource.InvalidationReason? { turns.source.invalidationReason }

    /// Takes the guest out of its loop for good. The loop's own thread, in the guest's own dispatch as well.
    public func invalidate() {
      turns.checkThread()
      turns.source.invalidate()
    }

    fileprivate func checkThread() { turns.checkThread() }

    fileprivate func enter(_ loop: Loop, _ mode: Mode) -> Bool { turns.enter(loop, mode) }

    fileprivate func exit(_ mode: Mode) { turns.exit(mode) }

    fileprivate var source: DescriptorSource { turns.source }
  }

  /// Puts a guest into a mode, or with `.common` into every mode that is common. The loop's own thread.
  ///
  /// The loop keeps it until it is invalidated or removed, whether anybody has a reference or not.
  ///
  /// - Returns: Whether it is a member afterwards: false if it is invalid or in another loop.
  @discardableResult
  public func add(_ guest: GuestLoop, to mode: Mode = .default) -> Bool {
    checkProcess()
    contract(
      thread.isCurrent, "This loop belongs to \(thread), and so do its guests. Use loop.perform { }, or Loop.current.")
    return guest.enter(self, mode)
  }

  /// Takes a guest out of a mode, or with `.common` out of every common mode. The loop's own thread.
  public func remove(_ guest: GuestLoop, from mode: Mode = .default) {
    guest.checkThread()
    if guest.source.isIn(self) { guest.exit(mode) }
  }

  /// Whether a guest is in a mode. With `.common`, whether it is in the common ones for good.
  public func contains(_ guest: GuestLoop, in mode: Mode = .default) -> Bool {
    contains(guest.source, in: mode)
  }
}
