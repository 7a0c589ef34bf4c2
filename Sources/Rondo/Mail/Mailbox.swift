import Synchronization

/// A run-loop block and the modes it may run in.
struct Block {
  /// Taken out by whoever runs it, so that it dies right after its run.
  var body: (() -> Void)?
  let modes: UInt64
  /// Runs in every mode that is common when the block's turn comes.
  let isCommon: Bool

  @inline(__always)
  func runs(in mode: ModeState) -> Bool {
    modes & mode.bit != 0 || (isCommon && mode.isCommon)
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
  /// *no lock* Signals from other threads.
  let signals = SignalStack()
  /// *mailbox lock*
  @safe @exclusivity(unchecked) private var state = MailboxState()
  /// *atomic* Written by the loop's thread inside the lock: others have to be inside it, or may find it out of date.
  private let stage = Atomic<Life>(.open)

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

/// Everything behind the loop's one lock: mail, mode names, and who belongs where.
struct MailboxState {
  var mail = Mail()
  /// Counts the lots of mail, so that a change that was taken is not looked for in the box. Zero is no lot.
  private var lot: UInt32 = 1
  var modes = ModeTable()
  /// By mode index, for what a mode publishes to other threads.
  var states: [ModeState] = []
  /// How many items stand in the common-mode item set.
  var commonItemCount = 0
  /// What an upper floor keeps with the loop, as long as it lives.
  var companion: AnyObject?

  /// Takes the mail if there is any, for the loop's thread to apply before a change of its own.
  mutating func takeMail() -> Mail? {
    guard !mail.isEmpty else { return nil }
    var taken = Mail()
    exchangeMail(&taken)
    return taken
  }

  /// Takes all the mail and leaves `other`, which is empty.
  mutating func exchangeMail(_ other: inout Mail) {
    swap(&mail, &other)
    beginLot()
  }

  /// Mails a change of the item's modes, which takes in one that waits already.
  mutating func mailMembership(of item: Loop.Item, leaves: UInt64 = 0, joins: UInt64 = 0) {
    mail.changes.appendMembership(of: item, leaves: leaves, joins: joins, lot: lot)
  }

  /// Mails that a mode becomes common. What items did before stays before it.
  mutating func mailJoinCommon(_ mode: Int) {
    mail.changes.append(.joinCommon(mode: mode))
    beginLot()
  }

  private mutating func beginLot() {
    lot = lot == .max ? 1 : lot + 1
  }

  /// The mode's bit, made if need be; none for `.common`, which is not a mode.
  mutating func mask(of mode: Loop.Mode) -> UInt64 {
    mode == .common ? 0 : 1 << UInt64(modes.makeIndex(of: mode))
  }
}

extension Loop {
  /// Holds the loop's one lock while `body` runs: for the proof that a quiet turn does without.
  package func whileHoldingLock(_ body: () -> Void) {
    mailbox.withLock { _ in body() }
  }
}
