public import Rondo

extension Loop {
  /// Calls `body` with the `event_base *` of `mode`. The loop's thread.
  ///
  /// It is for libraries on libevent: evhttp, bufferevents, evdns. A mode has one base, made by the first call. The
  /// loop frees it when the loop ends with its thread: free everything that uses it before. Callbacks are callouts of a
  /// descriptor source: they may run the loop. A run nested in a callback does not serve that base, because libevent
  /// cannot be entered twice. Only the loop may dispatch the base. From then on the mode is never empty: `stop()`
  /// ends its runs. Outside the loop's callouts, add events within `body` only.
  ///
  /// Takes five descriptors. A turn of the mode costs four more system calls while the base has events, because the
  /// loop asks for its next timeout. See event_base_new(3), and the article
  /// *Beside other loops* of `Rondo`.
  ///
  /// - Throws: ``EventBaseError`` if no descriptor is left for the base.
  @available(*, noasync, message: "An event base belongs to its loop's thread. Ask for it in a synchronous function.")
  public func withEventBase<Result>(
    in mode: Mode = .default, _ body: (OpaquePointer) -> Result
  ) throws(EventBaseError) -> Result {
    checkProcess()
    require(
      isCurrent, "This loop belongs to \(threadDescription), and so do its event bases. Use loop.perform { }.")
    require(mode != .common, "'.common' stands for the common modes and has no event base. Name one of them.")
    require(!isVirtual, "A loop in virtual time waits for no event base. Use a real one.")
    let events = try companion { EventBases() }.events(of: self, in: mode)
    // A host, or a foreign loop that sleeps for this one, would not learn of them otherwise.
    defer { events.arm() }
    return unsafe body(events.base.handle)
  }

  /// Why there is no event base.
  public enum EventBaseError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The process or the system has no descriptor left: errno.
    case noDescriptors(errno: CInt)

    /// A sentence with the cause.
    public var description: String {
      switch self {
      case .noDescriptors(let errno):
        "an event base needs five file descriptors, and could not have them: \(describe(errno: errno))"
      }
    }
  }
}

/// The event bases of one loop, by mode. The loop keeps it until its end. *loop thread*
@safe private final class EventBases {
  @safe @exclusivity(unchecked) private var made: [(mode: Loop.Mode, events: ForeignEvents)] = []

  func events(of loop: Loop, in mode: Loop.Mode) throws(Loop.EventBaseError) -> ForeignEvents {
    if let known = made.first(where: { $0.mode == mode }) { return known.events }
    do {
      let events = try ForeignEvents(loop, in: mode)
      made.append((mode, events))
      return events
    } catch {
      throw .noDescriptors(errno: error.errno)
    }
  }
}
