extension Loop {
  /// Hands out an `event_base *` that `mode` serves, for libraries on libevent: evhttp, bufferevents, evdns. Loop's thread.
  ///
  /// A mode has one, made when first asked for. The loop frees it when it ends, with its thread; free what uses it before.
  /// Callbacks are callouts of a descriptor source: they may do anything, run the loop included. A run nested in one serves
  /// everything but that base, since libevent cannot be entered twice. Nobody else may dispatch it. The mode counts as not
  /// empty from then on: ``stop()`` ends its runs. Outside the loop's callouts, add events within `body` only.
  ///
  /// Takes five descriptors. A turn of the mode costs four system calls more while the base has events, to have the next
  /// timeout end its sleep. See event_base_new(3) and <doc:BesideOtherLoops>.
  ///
  /// - Throws: ``EventBaseError`` if there are no descriptors for it.
  @available(*, noasync, message: "An event base belongs to its loop's thread. Ask for it in a synchronous function.")
  public func withEventBase<Result>(
    in mode: Mode = .default, _ body: (OpaquePointer) -> Result
  ) throws(EventBaseError) -> Result {
    checkProcess()
    contract(
      thread.isCurrent, "This loop belongs to \(thread), and so do its event bases. Use loop.perform { }.")
    contract(mode != .common, "'.common' stands for the common modes and has no event base. Name one of them.")
    contract(!isVirtual, "A loop in virtual time waits for no event base. Use a real one.")
    let events = try core.foreignEvents(in: mode)
    // Nobody else would tell a host, or a foreign loop that sleeps for this one.
    defer { events.arm() }
    return unsafe body(events.base.handle)
  }

  /// Why there is no event base.
  public enum EventBaseError: Error, Hashable, Sendable, CustomStringConvertible {
    /// No descriptors are left for it, of the process's or the system's.
    case noDescriptors(errno: CInt)

    public var description: String {
      switch self {
      case .noDescriptors(let errno):
        "an event base needs five file descriptors, and could not have them: \(describe(errno: errno))"
      }
    }
  }
}

extension LoopCore {
  fileprivate func foreignEvents(in mode: Loop.Mode) throws(Loop.EventBaseError) -> ForeignEvents {
    assertOwnThread()
    if let known = foreignEvents.first(where: { $0.mode == mode }) { return known.events }
    do {
      let made = try ForeignEvents(self, in: mode)
      foreignEvents.append((mode, made))
      return made
    } catch {
      throw .noDescriptors(errno: error.errno)
    }
  }
}
