import Synchronization

extension Loop {
  /// A source signalled by hand, from any thread; it may live in several loops and modes. See CFRunLoopSource.
  ///
  /// However often it is signalled before it is served, it is performed once, by the first of its loops to get to it,
  /// in a mode it belongs to.
  public final class Source: Item, @unchecked Sendable {
    /// *until released* Called on the thread of the loop that serves the source.
    @safe @exclusivity(unchecked) private(set) var performHandler: (() -> Void)?
    /// *until released* Called with no lock held, on the thread that adds.
    @safe @exclusivity(unchecked) private var scheduleHandler: (@Sendable (Loop, Mode) -> Void)?
    /// *until released* Called with no lock held, on the thread that removes.
    @safe @exclusivity(unchecked) private var cancelHandler: (@Sendable (Loop, Mode) -> Void)?
    /// *atomic* Ticket of the first outstanding signal; 0 when there is none.
    let signalTicket = Atomic<UInt64>(0)
    /// *its own lock, outside every other* One attachment for each loop the source is in.
    ///
    /// They keep the source alive; each is dropped when it has left its loop.
    @safe @exclusivity(unchecked) private var attachments: [SourceAttachment] = []
    /// *constant*
    private let attachmentsLock = Lock()

    /// A source whose `perform` runs on the loop's thread after `signal()`.
    ///
    /// - Parameters:
    ///   - schedule: Told once for each mode the source joins, on the thread that adds it, with no lock held.
    ///   - cancel: Told once for each mode the source leaves, on the thread that removes it, with no lock held.
    public init(
      order: Int = 0,
      schedule: (@Sendable (Loop, Mode) -> Void)? = nil,
      cancel: (@Sendable (Loop, Mode) -> Void)? = nil,
      perform: sending @escaping () -> Void
    ) {
      performHandler = perform
      scheduleHandler = schedule
      cancelHandler = cancel
      super.init(kind: .source, order: order)
    }

    /// Whether a signal is waiting to be served.
    public var isSignalled: Bool {
      signalTicket.load(ordering: .sequentiallyConsistent) != 0
    }

    /// Asks for one perform, and wakes the source's loops. Any thread; not from a signal handler.
    ///
    /// - Parameter waking: False leaves sleeping loops asleep, as CFRunLoopSourceSignal does.
    public func signal(waking: Bool = true) {
      guard isValid else { return }
      let (isFirst, _) = signalTicket.compareExchange(
        expected: 0, desired: Self.takeTicket(), ordering: .sequentiallyConsistent)
      guard isFirst || waking else { return }
      let (only, several) = withAttachments { list in
        list.count == 1 ? (list[0], []) : (nil, list)
      }
      if let only {
        only.loop.noteSignal(of: only, isNew: isFirst, waking: waking)
      } else {
        for attachment in several { attachment.loop.noteSignal(of: attachment, isNew: isFirst, waking: waking) }
      }
    }

    /// Takes the signal; whoever gets true performs.
    func takeSignal() -> Bool {
      signalTicket.exchange(0, ordering: .sequentiallyConsistent) != 0
    }

    /// The loop's attachment, if it has one.
    func attachment(in loop: Loop) -> SourceAttachment? {
      withAttachments { list in list.first { $0.loop === loop } }
    }

    /// Has the loop's attachment, made if need be, admitted by `admit`; kept if it is.
    ///
    /// `admit` runs under the lock, so that no attachment is dropped between being found and being a member again.
    func admitted(to loop: Loop, _ admit: (SourceAttachment) -> Admission) -> (SourceAttachment, Admission) {
      withAttachments { list in
        if let found = list.first(where: { $0.loop === loop }) { return (found, admit(found)) }
        let made = SourceAttachment(source: self, loop: loop)
        let admission = admit(made)
        if admission.isMember { list.append(made) }
        return (made, admission)
      }
    }

    /// Forgets an attachment whose loop has ended.
    func drop(_ attachment: SourceAttachment) {
      withAttachments { list in list.removeAll { $0 === attachment } }
    }

    /// Forgets an attachment that has left its loop, unless it has joined again.
    func dropIfHomeless(_ attachment: SourceAttachment) {
      withAttachments { list in
        if attachment.withOwner({ $0 == nil }) { list.removeAll { $0 === attachment } }
      }
    }

    private func withAttachments<Result>(_ body: (inout [SourceAttachment]) -> Result) -> Result {
      attachmentsLock.withLock { body(&attachments) }
    }

    func detachEverywhere() {
      let list = withAttachments { list in
        defer { list = [] }
        return list
      }
      for attachment in list { attachment.loop.expel(attachment) }
    }

    override func releaseHandlers() {
      performHandler = nil
      scheduleHandler = nil
      cancelHandler = nil
    }

    /// Calls out.
    func tellSchedule(_ loop: Loop, _ modes: [Mode]) {
      if let scheduleHandler { for mode in modes { scheduleHandler(loop, mode) } }
    }

    /// Calls out.
    func tellCancel(_ loop: Loop, _ modes: [Mode]) {
      if let cancelHandler { for mode in modes { cancelHandler(loop, mode) } }
    }

    private static let tickets = Atomic<UInt64>(0)

    private static func takeTicket() -> UInt64 {
      tickets.add(1, ordering: .relaxed).newValue
    }
  }
}

/// A source's membership in the modes of one loop.
@safe final class SourceAttachment: Loop.Item, @unchecked Sendable {
  /// *constant*
  let source: Loop.Source
  /// *constant* The loop lets go of the attachment when it ends.
  let loop: Loop
  /// *atomic* Whether it stands in the loop's stack of signals from other threads.
  let isPosted = Atomic<Bool>(false)
  /// *whoever set `isPosted`, then loop thread* The next entry of that stack.
  @safe @exclusivity(unchecked) var below: Unmanaged<SourceAttachment>?

  init(source: Loop.Source, loop: Loop) {
    self.source = source
    self.loop = loop
    super.init(kind: .attachment, order: source.order)
  }
}
