import Synchronization

/// A run-loop block and the modes it may run in.
struct Block {
  private var body: Body?
  let modes: ModeSet

  /// A structure around it: an optional would wrap a bare function in a thunk, whose address is not the function's.
  private struct Body {
    let call: () -> Void
  }

  @inline(__always)
  init(_ call: @escaping () -> Void, modes: ModeSet) {
    body = Body(call: call)
    self.modes = modes
  }

  @inline(__always)
  var call: () -> Void { body!.call }

  var isTaken: Bool { body == nil }

  /// Takes it out for its run, so that what it captures is freed right after that.
  @inline(__always)
  mutating func take() -> (() -> Void)? {
    guard let taken = body.take() else { return nil }
    return taken.call
  }
}

/// What other threads have left for the loop, in order.
///
/// *mailbox lock* while it is in the box, *loop thread* once it was taken.
struct Mail {
  var changes = ChangeList()
  var blocks: [Block] = []
  var jobs: ContiguousArray<QueuedJob> = []

  @inline(__always)
  var isEmpty: Bool { changes.isEmpty && blocks.isEmpty && jobs.isEmpty }
}

/// The loop's one lock, and what is behind it.
final class Mailbox: @unchecked Sendable {
  private let lock = Lock()
  /// *no lock* Signals from other threads that wake the loop.
  let signals = SignalStack()
  /// *mailbox lock*
  @safe @exclusivity(unchecked) private var state = MailboxState()
  /// *atomic* Written by the loop's thread inside the lock: others have to be inside it, or may find it out of date.
  private let stage = Atomic<Life>(.open)
  /// *atomic* How many items stand in the common-mode item set.
  let commonItemCount = Atomic<Int>(0)

  /// How far the loop is on its way to its end.
  @inline(__always)
  var life: Life { stage.load(ordering: .acquiring) }

  /// Takes the loop's life forward, if it is not there yet. The loop's thread, inside the lock.
  func advance(to life: Life) {
    if life > self.life { stage.store(life, ordering: .releasing) }
  }

  /// Nothing may be called out, and no other loop's mailbox opened, inside `body`.
  @inline(__always)
  func withLock<Result>(_ body: (inout MailboxState) -> Result) -> Result {
    lock.withLock { body(&state) }
  }

  /// Leaves a block. What `withLock` would do, but a block that no closure captures costs no reference count.
  ///
  /// - Returns: Whether there was no mail before; nil if the loop is dead and takes none.
  @inline(__always)
  func leave(_ block: consuming Block) -> Bool? {
    lock.lock()
    defer { lock.unlock() }
    guard life == .open else { return nil }
    let isFirst = state.mail.isEmpty
    state.mail.blocks.append(block)
    return isFirst
  }
}

/// Everything behind the loop's one lock: mail, mode names, and which item belongs to which mode.
struct MailboxState {
  var mail = Mail()
  var modes = ModeTable()
  /// By mode index, for what a mode publishes to other threads.
  var states: ContiguousArray<ModeState> = []
  /// What upper floors keep with the loop, as long as it lives: at most one of each type.
  var companions: [AnyObject] = []

  /// Takes the mail if there is any, for the loop's thread to apply before a change of its own.
  mutating func takeMail() -> Mail? {
    guard !mail.isEmpty else { return nil }
    var taken = Mail()
    swap(&mail, &taken)
    return taken
  }

  /// The modes that the name stands for, if they exist; all of them for nil.
  func seats(_ mode: Loop.Mode?) -> ModeSet? {
    guard let mode else { return .all }
    if mode == .common { return ModeSet(modes: modes.common, isCommon: true) }
    return modes.index(of: mode).map { ModeSet(modes: 1 << UInt64($0), isCommon: false) }
  }

  /// The modes that the name stands for, made if need be; of the common ones, those that were made common unseen.
  mutating func makeSeats(_ mode: Loop.Mode) -> ModeSet {
    if mode == .common { modes.makeAwaitedModes() } else { _ = modes.makeIndex(of: mode) }
    return seats(mode)!
  }

  /// The modes in which a block or a job runs that is posted for these: the common ones, whichever they are by then.
  ///
  /// - Parameter stays: Whether the set is used outside of the loop's thread.
  mutating func workModes(_ names: [Loop.Mode], stays: Bool) -> ModeSet {
    var set = ModeSet(modes: 0, isCommon: false)
    for name in names {
      if name == .common { set.isCommon = true } else { set.modes |= 1 << UInt64(modes.makeIndex(of: name)) }
    }
    if stays { modes.pin(set.modes) }
    return set
  }
}

extension Loop {
  /// Holds the loop's one lock while `body` runs: for the proof that a quiet turn does without.
  package func whileHoldingLock(_ body: () -> Void) {
    mailbox.withLock { _ in body() }
  }
}
