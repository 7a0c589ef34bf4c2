extension Loop {
  /// A loop as the guest of another one, which has the thread. The host is GLib's, libuv's, an epoll loop of your own.
  ///
  /// The host watches one descriptor and calls ``turn()`` when it is readable. Nothing is polled: an idle guest makes no
  /// system call. Posts, signals, timers, descriptors, jobs of actors and, on the main thread, the main dispatch queue
  /// are served as in ``Loop/run(in:returnAfterSourceHandled:)``. All but `deinit` belongs on the loop's own thread, which
  /// is its host's. See <doc:BesideOtherLoops>.
  public final class Embedding {
    /// The guest.
    public let loop: Loop
    /// The mode that is served.
    public let mode: Mode
    private let knownDescriptor: CInt
    let guest: Guest

    /// Makes a loop a guest, in one of its modes. The loop's own thread, while the loop does not run.
    ///
    /// A loop has one embedding at a time, as it sleeps in one mode at a time. Nothing is called before the first turn.
    @available(
      *, noasync, message: "An embedded loop belongs to its host's thread. Embed it in a synchronous function."
    )
    public init(of loop: Loop, in mode: Mode = .default) {
      loop.checkProcess()
      contract(
        loop.thread.isCurrent,
        "This loop belongs to \(loop.thread), and a host on that thread alone can embed it. Embed Loop.current.")
      contract(mode != .common, "'.common' stands for the common modes and cannot be embedded. Embed one of them.")
      contract(
        loop.core.guest == nil,
        "This loop is embedded already. End that embedding first: a loop sleeps in one mode at a time.")
      contract(
        loop.core.depth == 0, "This loop is running, so that its thread is not a host's. Embed it after the run.")
      self.loop = loop
      self.mode = mode
      loop.core.applyMail()
      let index = loop.mailbox.withLock { state in
        contract(loop.mailbox.life == .open, "This loop has ended with its thread, and cannot be embedded.")
        return state.modes.makeIndex(of: mode)
      }
      (guest, knownDescriptor) = loop.core.beginGuest(in: loop.core.modeState(index))
    }

    deinit {
      // In a forked child it is the parent's, and a loop that has ended has ended it.
      guard guest.stage != .ended, loop.thread.isOfThisProcess else { return }
      contract(
        loop.thread.isCurrent, "The embedding of a loop was let go on another thread. Call end() on the loop's thread.")
      loop.core.endGuest()
    }

    /// What the host waits by: readable while a turn has something to do. The same until the embedding ends.
    ///
    /// It is the loop's: watch it for reading, level-triggered, and neither read nor close it. Once a watched descriptor was
    /// closed before its source was invalidated, it may be readable for nothing. See epoll(7).
    public var descriptor: CInt {
      loop.checkProcess()
      contract(guest.stage != .ended, "This embedding has ended, and with it its descriptor.")
      contract(
        knownDescriptor >= 0, "A loop in virtual time has no descriptor: call turn() when its deadline has come.")
      return knownDescriptor
    }

    /// When the next turn has something to do, as far as is known now. Nil if only the descriptor will tell.
    ///
    /// A host that waits by the descriptor needs no deadline. One that goes by deadlines needs the descriptor as well: it
    /// tells of what comes from elsewhere.
    public var deadline: SuspendingClock.Instant? {
      checkHost()
      switch guest.stage {
      case .asleep where loop.wakeup.has(.asleep):
        return guest.deadline == .distantFuture ? nil : guest.deadline.suspending
      case .resting where loop.wakeup.has(.asleep), .serving: return nil
      default: return loop.now.suspending
      }
    }

    /// Serves what is due, without sleeping, and says what to do next. Calls out.
    ///
    /// Begins a run, or goes on with the one under way, up to the point where it would sleep, or after two turns; work
    /// that is left keeps the descriptor readable. Inside a callout, run the loop instead: ``Loop/run(in:for:returnAfterSourceHandled:)``.
    ///
    /// - Returns: Nil while the run goes on. `.stopped` if it was stopped, `.finished` if nothing is left in the mode: its
    ///   exit observers have been told, and the next turn begins another run, once there is something to run for.
    @available(*, noasync, message: "A turn belongs to its host's thread. Call it from a synchronous function.")
    @discardableResult
    public func turn() -> RunResult? {
      checkHost()
      contract(
        guest.stage != .serving, "turn() was called inside a callout of turn(). To serve the loop there, run it.")
      return loop.core.serve(guest)
    }

    /// Ends the run under way, and the embedding. Once is enough; inside a turn it holds when that is over. Calls out.
    ///
    /// The exit observers are told. What is in the loop stays there, and the loop can be run or embedded again. Have the
    /// host forget the descriptor before: the loop keeps it, or its number becomes another file's.
    public func end() {
      if guest.stage == .ended || !loop.thread.isOfThisProcess { return }
      checkHost()
      loop.core.endGuest()
    }

    private func checkHost() {
      loop.checkProcess()
      contract(
        loop.thread.isCurrent,
        "This loop belongs to \(loop.thread), and so does its host. Watch the descriptor, and call turn(), there.")
      contract(guest.stage != .ended, "This embedding has ended. Make another to embed the loop again.")
    }
  }
}
