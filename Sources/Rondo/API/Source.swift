import Synchronization

extension Loop {
  /// Calls its handler after `signal()`, which any thread may call. See CFRunLoopSource.
  ///
  /// It may be in several loops and modes. Several signals before a perform cause one perform. The first of its loops
  /// that runs one of its modes does it.
  @safe public class Source: Item, @unchecked Sendable {
    /// *until released* Called on the thread of the loop that serves the source.
    @safe @exclusivity(unchecked) private var performHandler: (() -> Void)?
    /// *until released* In one object, which most sources do without.
    @safe @exclusivity(unchecked) private var membershipHandlers: MembershipHandlers?
    /// *atomic* Ticket of the first outstanding signal; 0 when there is none. Ordering: a poster writes the ticket, then
    /// reads `isShared` and the owner; a loop writes these when the source joins, then reads the ticket. One sees the other.
    private let signalTicket = Atomic<UInt64>(0)
    /// *the poster that set `isStacked`, then loop thread* The next entry of that stack.
    @safe @exclusivity(unchecked) var below: Unmanaged<Source>?
    /// *constant* The source that this one stands for in a further loop; nil for the one that its user made.
    private let original: Source?
    /// *its own lock* One for each further loop the source is in. They keep the source alive until they have left.
    @safe @exclusivity(unchecked) private var standIns: [Source] = []
    /// *constant* Taken outside every other.
    private let standInsLock = Lock()
    /// *atomic* Whether there may be a stand-in. Ordering: see `signalTicket`.
    private let isShared = Atomic<Bool>(false)
    /// *atomic* Whether it stands in a loop's stack of signals from other threads. Ordering: see `SignalStack`.
    let isStacked = Atomic<Bool>(false)

    /// Makes a source whose `perform` is called on the loop's thread after `signal()`.
    ///
    /// - Parameters:
    ///   - schedule: Called once for each mode that the source joins, on the thread that adds it, without a lock.
    ///   - cancel: Called once for each mode that the source leaves, on the thread that removes it, without a lock.
    public init(
      order: Int = 0, fileID: StaticString = #fileID, line: UInt = #line,
      schedule: (@Sendable (Loop, Mode) -> Void)? = nil,
      cancel: (@Sendable (Loop, Mode) -> Void)? = nil,
      perform: sending @escaping () -> Void
    ) {
      performHandler = perform
      membershipHandlers = MembershipHandlers(schedule, cancel)
      original = nil
      super.init(kind: .source, order: order, Label(fileID: fileID, line: line))
    }

    /// One that stands for `original` in a further loop, and keeps its handlers.
    private init(for original: Source) {
      performHandler = nil
      membershipHandlers = nil
      self.original = original
      super.init(kind: .source, order: original.order, original.label)
      if Hint.isOn { noteOwn() }
      original.holdHandlers()
    }

    deinit {
      original?.unholdHandlers()
    }

    /// The source that its user made, which has the handlers.
    var primary: Source { original ?? self }

    /// The label and the identity of the source that the user made: a stand-in has its original's.
    @inline(__always)
    var identity: (label: Label, item: UInt) {
      guard let original else { return (label, unsafe UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque())) }
      return (original.label, unsafe UInt(bitPattern: Unmanaged.passUnretained(original).toOpaque()))
    }

    /// Whether a signal waits for its perform. Any thread.
    public var isSignalled: Bool {
      ticket != 0
    }

    /// The ticket of the signal that waits, which says when it came.
    @inline(__always)
    var ticket: UInt64 {
      if let original { return original.signalTicket.load(ordering: .sequentiallyConsistent) }
      return signalTicket.load(ordering: .sequentiallyConsistent)
    }

    /// What is called on the thread of the loop that serves the source.
    @inline(__always)
    var handler: (() -> Void)? {
      if let original { return original.performHandler }
      return performHandler
    }

    /// Whether its handlers may be called.
    @inline(__always)
    var mayPerform: Bool {
      if let original { return original.isValid }
      return isValid
    }

    /// Causes one perform, and wakes the source's loops. Any thread; not from a signal handler.
    ///
    /// - Parameter waking: False leaves sleeping loops asleep, as CFRunLoopSourceSignal does.
    public func signal(waking: Bool = true) {
      guard isValid else { return }
      let isFirst = renewTicket()
      guard isFirst || waking else { return }
      // A loop it joins after the ticket was taken finds the signal itself.
      if isShared.load(ordering: .sequentiallyConsistent) {
        for seat in seats { seat.loop?.noteSignal(of: seat, isNew: isFirst, waking: waking) }
      } else if let loop = unsafe ownLoop {
        unsafe loop._withUnsafeGuaranteedRef { $0.noteOwnSignal(of: self, isNew: isFirst, waking: waking) }
      } else {
        loop?.noteSignal(of: self, isNew: isFirst, waking: waking)
      }
    }

    /// Gives the source a ticket, unless it has one.
    ///
    /// One that it has is exchanged for itself: the perform that takes it then sees what this poster did before.
    ///
    /// - Returns: Whether it had none.
    @inline(__always)
    private func renewTicket() -> Bool {
      var waiting = signalTicket.load(ordering: .relaxed)
      while true {
        let (exchanged, seen) = signalTicket.compareExchange(
          expected: waiting, desired: waiting == 0 ? Self.takeTicket() : waiting, ordering: .sequentiallyConsistent)
        if exchanged { return waiting == 0 }
        waiting = seen
      }
    }

    /// Takes the signal's ticket. The loop that gets it performs; a loop that gets 0 does not.
    @inline(__always)
    func takeSignal() -> UInt64 {
      if let original { return original.signalTicket.exchange(0, ordering: .sequentiallyConsistent) }
      return signalTicket.exchange(0, ordering: .sequentiallyConsistent)
    }

    // MARK: - Membership in several loops

    /// The source and its stand-ins.
    private var seats: [Source] {
      let first = primary
      return first.standInsLock.withLock { [first] + first.standIns }
    }

    override func registration(in loop: Loop) -> Loop.Item? {
      seats.first { $0.isIn(loop) }
    }

    override func enter(_ loop: Loop, _ mode: Mode) -> Bool {
      holdHandlers()
      defer { unholdHandlers() }
      let isOwn = loop.isCurrent
      let (seat, joined) = standInsLock.withLock { enroll(in: loop, mode, isOwn) }
      loop.settle(seat, joined ?? 0, isOwn: isOwn)
      if let joined, joined != 0 { callSchedule(loop, loop.names(of: joined)) }
      return joined != nil
    }

    /// Adds the source to the mode: by the stand-in in the loop, by itself if it is free, or by a new stand-in.
    private func enroll(in loop: Loop, _ mode: Mode, _ isOwn: Bool) -> (seat: Source, joined: UInt64?) {
      guard isValid else { return (self, nil) }
      if let found = standIns.first(where: { $0.isIn(loop) }) { return (found, loop.enroll(found, mode, isOwn: isOwn)) }
      if let joined = loop.enroll(self, mode, isOwn: isOwn) { return (self, joined) }
      let standIn = Source(for: self)
      isShared.store(true, ordering: .sequentiallyConsistent)
      let joined = loop.enroll(standIn, mode, isOwn: isOwn)
      if joined != nil { standIns.append(standIn) }
      return (standIn, joined)
    }

    override func exit(_ loop: Loop, _ mode: Mode) {
      let source = primary
      source.holdHandlers()
      defer { source.unholdHandlers() }
      let left = loop.removeAndReport(self, from: mode)
      if left != 0 { source.callCancel(loop, loop.names(of: left)) }
    }

    /// The same for every mode of a loop. Calls out.
    func leave(_ loop: Loop) {
      let source = primary
      source.holdHandlers()
      defer { source.unholdHandlers() }
      let departure = loop.removeFromAllModes(self)
      if departure.left != 0 { source.callCancel(loop, loop.names(of: departure.left)) }
      departure.evicted?.unholdHandlers()
    }

    override func leaveLoops() -> Loop.Item? {
      for seat in seats {
        if let loop = seat.loop { seat.leave(loop) }
      }
      return nil
    }

    /// A stand-in that has left its loop is forgotten, unless it has joined again.
    override func didLeaveLoop() {
      guard let original else { return }
      original.standInsLock.withLock {
        if !isInLoop { original.standIns.removeAll { $0 === self } }
        original.isShared.store(!original.standIns.isEmpty, ordering: .sequentiallyConsistent)
      }
    }

    override func releaseHandlers() {
      performHandler = nil
      membershipHandlers = nil
    }

    /// Calls out.
    func callSchedule(_ loop: Loop, _ modes: [Mode]) {
      Lock.assertNoneHeld()
      if let schedule = membershipHandlers?.schedule { for mode in modes { schedule(loop, mode) } }
    }

    /// Calls out.
    func callCancel(_ loop: Loop, _ modes: [Mode]) {
      Lock.assertNoneHeld()
      if let cancel = membershipHandlers?.cancel { for mode in modes { cancel(loop, mode) } }
    }

    private final class MembershipHandlers: Sendable {
      /// Called with no lock held, on the thread that adds.
      let schedule: (@Sendable (Loop, Mode) -> Void)?
      /// Called with no lock held, on the thread that removes.
      let cancel: (@Sendable (Loop, Mode) -> Void)?

      init?(_ schedule: (@Sendable (Loop, Mode) -> Void)?, _ cancel: (@Sendable (Loop, Mode) -> Void)?) {
        if schedule == nil, cancel == nil { return nil }
        self.schedule = schedule
        self.cancel = cancel
      }
    }

    private static let tickets = Atomic<UInt64>(0)

    private static func takeTicket() -> UInt64 {
      tickets.add(1, ordering: .relaxed).newValue
    }
  }
}
