extension Loop {
  /// Runs a loop as the guest of another loop, which owns the thread: the host.
  ///
  /// The host may be GLib's loop, libuv's, or an epoll loop of your own. It watches one descriptor and calls ``turn()``
  /// when that is readable. An idle guest makes no system call. Posts, signals, timers, descriptors, jobs of actors
  /// and, on the main thread, the main dispatch queue are served as in ``Loop/run(in:returnAfterSourceHandled:)``. Use
  /// every member but `deinit` on the loop's own thread, which is the host's. See <doc:BesideOtherLoops>.
  public final class Embedding {
    /// The embedded loop.
    package let loop: Loop
    /// The mode that the turns serve.
    let mode: Mode
    private let knownDescriptor: CInt
    let guest: Guest

    /// Embeds a loop in one of its modes. The loop's own thread, while the loop does not run.
    ///
    /// A loop has one embedding at a time. Nothing is called before the first turn.
    ///
    /// - Parameter mode: The mode that the turns serve. Not `.common`.
    @available(
      *, noasync, message: "An embedded loop belongs to its host's thread. Embed it in a synchronous function."
    )
    public init(of loop: Loop, in mode: Mode = .default) {
      loop.checkProcess()
      require(
        loop.thread.isCurrent,
        "This loop belongs to \(loop.thread), and a host on that thread alone can embed it. Embed Loop.current.")
      require(mode != .common, "'.common' stands for the common modes and cannot be embedded. Embed one of them.")
      require(
        loop.core.guest == nil,
        "This loop is embedded already. End that embedding first: a loop sleeps in one mode at a time.")
      require(
        loop.core.depth == 0, "This loop is running, so that its thread is not a host's. Embed it after the run.")
      self.loop = loop
      self.mode = mode
      require(loop.mailbox.life == .open, "This loop has ended with its thread, and cannot be embedded.")
      loop.core.applyMail()
      loop.makeMode(mode)
      (guest, knownDescriptor) = loop.core.beginGuest(in: loop.core.modeState(loop.core.index(of: mode)!))
    }

    deinit {
      // In a forked child it is the parent's, and a loop that has ended has ended it.
      guard guest.stage != .ended, loop.thread.isOfThisProcess else { return }
      require(
        loop.thread.isCurrent, "The embedding of a loop was let go on another thread. Call end() on the loop's thread.")
      loop.core.endGuest()
    }

    /// The descriptor that the host watches: readable while a turn has something to do.
    ///
    /// Watch it for reading, level-triggered. The loop owns it: neither read from it nor close it. It stays the same
    /// until the embedding ends. If you closed a watched descriptor before you invalidated its source, this descriptor
    /// may be readable although nothing is to do. See epoll(7).
    public var descriptor: CInt {
      loop.checkProcess()
      require(guest.stage != .ended, "This embedding has ended, and with it its descriptor.")
      require(
        knownDescriptor >= 0, "A loop in virtual time has no descriptor: call turn() when its deadline has come.")
      return knownDescriptor
    }

    /// The date of the next timer; nil without one, now if work is left.
    ///
    /// A host that watches the descriptor needs no deadline. A host that uses deadlines must watch the descriptor too:
    /// posts and descriptors of the guest are not in the deadline.
    public var deadline: SuspendingClock.Instant? {
      checkHost()
      switch guest.stage {
      case .asleep where loop.wakeup.has(.asleep):
        return guest.sleep.deadline == .distantFuture ? nil : guest.sleep.deadline.suspending
      case .resting where loop.wakeup.has(.asleep), .serving: return nil
      default: return loop.now.suspending
      }
    }

    /// Serves everything that is due, without sleeping. Calls out.
    ///
    /// It begins a run, or continues the run under way, until the run would sleep, or for two turns. If work is left,
    /// the descriptor stays readable. Inside a callout, run the loop instead:
    /// ``Loop/run(in:for:returnAfterSourceHandled:)``.
    ///
    /// - Returns: Nil while the run continues. `.stopped` if it was stopped, `.finished` if the mode is empty: the exit
    ///   observers have then been called, and the next turn begins another run once the mode has an item.
    @available(*, noasync, message: "A turn belongs to its host's thread. Call it from a synchronous function.")
    @discardableResult
    public func turn() -> RunResult? {
      checkHost()
      require(
        guest.stage != .serving, "turn() was called inside a callout of turn(). To serve the loop there, run it.")
      return loop.core.serve(guest)
    }

    /// Ends the run under way, and the embedding. Calls out.
    ///
    /// The exit observers are called. A second call does nothing; inside a turn, the end takes effect after the turn.
    /// Items stay in the loop, and you can run or embed the loop again. Remove the descriptor from the host before: the
    /// loop still owns and uses it.
    public func end() {
      if guest.stage == .ended || !loop.thread.isOfThisProcess { return }
      checkHost()
      loop.core.endGuest()
    }

    private func checkHost() {
      loop.checkProcess()
      require(
        loop.thread.isCurrent,
        "This loop belongs to \(loop.thread), and so does its host. Watch the descriptor, and call turn(), there.")
      require(guest.stage != .ended, "This embedding has ended. Make another to embed the loop again.")
    }
  }
}

/// What products above the core ask of a loop that is embedded.
extension Loop {
  /// Whether a host of this thread runs the loop by an `Embedding`.
  package var isEmbedded: Bool { core.guest != nil }

  /// Whether a host of this thread would have to run the loop: it is embedded, and in none of its callouts.
  package var isLeftToHost: Bool {
    guard let guest = core.guest else { return false }
    return guest.stage != .serving
  }
}

extension Loop.Embedding {
  /// Whether a turn is under way, in one of whose callouts the caller must be. The loop's thread.
  package var isInTurn: Bool { guest.stage == .serving }

  /// Whether it has ended. The loop's thread, or when that is gone.
  package var hasEnded: Bool { guest.stage == .ended }
}
