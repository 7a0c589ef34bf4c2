import CLinux
import Synchronization

/// What the loop's thread owns. Nothing here is locked; only that thread may touch it.
///
/// The heart is `Loop+Run.swift`; other threads reach the core through the mailbox.
///
/// One thread needs no check of exclusive access, and a callout may come back to any of this. Each field has its own
/// attribute, since exclusivity of a struct covers all its fields.
@safe final class LoopCore {
  /// *constant* once set. The handle that owns this core, and outlives it.
  @safe unowned(unsafe) var loop: Loop!
  /// *constant* The loop's one lock.
  let mailbox: Mailbox
  /// *constant* Wake bits and descriptor, shared with every poster.
  let wakeup: Wakeup
  /// *constant* One writer, any reader.
  let counters = Counters()
  /// *atomic* The delegate. Once set it stays, and lives as long as the core.
  let delegate = unsafe Atomic<Unmanaged<DelegateBox>?>(nil)
  /// *constant*
  let wait: Wait
  /// *constant*
  let slots = SlotTable()
  /// *constant*
  let timers = TimerStore()
  /// By mode index; as many as mail has been applied for.
  @safe @exclusivity(unchecked) var modes: ContiguousArray<ModeState>
  /// The loop as another loop's guest.
  @safe @exclusivity(unchecked) var guest: Guest? { didSet { note(.guest, guest != nil) } }
  /// The runs under way.
  @safe @exclusivity(unchecked) var frames = FrameStack()
  @safe @exclusivity(unchecked) var depth = 0
  /// *atomic* The innermost run's mode by index; -1 when the loop is not running.
  let runningMode = Atomic<Int>(-1)
  /// What these runs remember of wakeups and stops.
  @safe @exclusivity(unchecked) var wakes = WakeMemory()
  /// *constant* Whether this is the main thread's loop, and serves the main dispatch queue.
  let isMain: Bool
  /// The run that ended last had been stopped. *loop thread*
  @safe @exclusivity(unchecked) var wasStopped = false
  @safe @exclusivity(unchecked) var blocks = BlockQueue()
  /// What a turn of any mode has to do.
  @safe @exclusivity(unchecked) var agenda = Agenda()
  /// *atomic* `Extras` bits.
  let extras = Atomic<UInt32>(0)
  /// *atomic* Blocks die instead of running. No stage of the loop's life: another thread may ask for it at any time.
  let discardsBlocks = Atomic<Bool>(false)
  /// A block of the main dispatch queue is running.
  @safe @exclusivity(unchecked) var isDrainingMainQueue = false
  /// Whether the clock's last reading is good for this phase.
  @safe @exclusivity(unchecked) private var isClockRead = false
  /// Whether debug builds check the invariants after every turn.
  @safe @exclusivity(unchecked) var checksInvariants = false
  /// The jobs of actors and tasks, once there was one.
  @safe @exclusivity(unchecked) var knownJobs: JobService?
  /// *constant* once set, before main. Serves jobs while the loop is not run, if it is the main actor's.
  @safe @exclusivity(unchecked) var jobRelay: JobRelay?
  /// *constant* once jobs are orphaned. Runs them from then on.
  @safe @exclusivity(unchecked) var detachedJobs: DetachedJobQueue?
  /// Emptied mail, to change places with the next.
  @safe @exclusivity(unchecked) var spareMail = Mail()
  /// The clock as read last.
  @safe @exclusivity(unchecked) private var lastReading = Instant.distantPast
  /// How often the loop has waited or looked.
  @safe @exclusivity(unchecked) var waitCount: UInt64 = 0
  /// After so many callouts of descriptor sources, the number of the next one is asked for its file.
  @safe @exclusivity(unchecked) var calloutsToTrust = calloutsBetweenLooks
  /// What a turn serves of what is ready, if not all of it.
  @safe @exclusivity(unchecked) var oneEvent: OneEventPolicy? { didSet { agenda.note(.oneEvent, oneEvent != nil) } }
  /// *atomic* The foreign loop of this thread that an upper floor has named. Once set it stays, as the delegate does.
  let foreign = unsafe Atomic<Unmanaged<ForeignBox>?>(nil)
  /// How many of the runs under way are turns that the foreign loop's runs gave this one.
  @safe @exclusivity(unchecked) var foreignTurns = 0
  /// What is to be called when the mail under way has been applied.
  @safe @exclusivity(unchecked) var afterMail: [AfterMail] = [] {
    didSet { agenda.note(.afterMail, !afterMail.isEmpty) }
  }
  /// What the loop has learned about spinning, once it may.
  @safe @exclusivity(unchecked) var knownSpinner: Spinner?
  /// *atomic* Nanoseconds a second, of all that is spun, up to which sleeps may begin with a spin. Negative unless a user
  /// has set it: then only sleeps of a dialogue do.
  let busyPollAllowance = Atomic<Int64>(-20_000_000)
  /// Whether posts end the sleeps at once.
  @safe @exclusivity(unchecked) var dialogue = Dialogue()
  @safe @exclusivity(unchecked) private var lastStamp: UInt32 = 0
  /// The loop's thread as assertions found it, by its control block.
  @safe @exclusivity(unchecked) private var assertedThread: UInt = 0

  init(isMain: Bool, mailbox: Mailbox, wakeup: Wakeup, wait: Wait) {
    self.isMain = isMain
    self.mailbox = mailbox
    self.wakeup = wakeup
    self.wait = wait
    modes = [ModeState(index: 0, name: .default, isCommon: true, own: 0)]
    mailbox.withLock { $0.states = modes }
  }

  deinit {
    unsafe foreign.load(ordering: .acquiring)?.release()
    guard let delegate = unsafe delegate.load(ordering: .acquiring) else { return }
    unsafe delegate._withUnsafeGuaranteedRef { $0.showItems(of: nil) }
    unsafe delegate.release()
  }

  /// Whether the loop has any of these. A relaxed load.
  @inline(__always)
  func has(_ any: Extras) -> Bool { extras.load(ordering: .relaxed) & any.rawValue != 0 }

  /// Any thread; see `Extras`.
  func note(_ extra: Extras, _ isThere: Bool = true) {
    if has(extra) == isThere { return }
    if isThere {
      extras.bitwiseOr(extra.rawValue, ordering: .relaxed)
    } else {
      extras.bitwiseAnd(~extra.rawValue, ordering: .relaxed)
    }
  }

  /// The clock: read at most once a phase, when the phase first needs it. A mode without timers costs no reading.
  @inline(__always)
  var now: Instant {
    assertOwnThread()
    if !isClockRead { (lastReading, isClockRead) = (wait.now, true) }
    return lastReading
  }

  /// Time has passed: the next use of `now` reads the clock.
  @inline(__always)
  func forgetClock() {
    assertOwnThread()
    isClockRead = false
  }

  /// Only the loop's thread may be here; or, if the system could not start it, the thread that ends the loop.
  @inline(__always)
  func assertOwnThread() {
    assert(
      rondo_thread_pointer() == assertedThread || isOnOwnThread(), "A loop's own state was touched by another thread.")
  }

  /// For debug builds; remembers the thread, so that the next question costs no reference count.
  private func isOnOwnThread() -> Bool {
    guard loop.isCurrent || !loop.thread.hasStarted else { return false }
    assertedThread = rondo_thread_pointer()
    return true
  }

  func nextStamp() -> UInt32 {
    assertOwnThread()
    lastStamp &+= 1
    return lastStamp
  }

  /// Makes `frame` the innermost, for one more level of nesting.
  @inline(__always)
  func pushFrame(_ frame: RunFrame, returnsAfterSourceHandled: Bool) {
    assertOwnThread()
    let servesMainQueue = servesMainQueue(in: frame.mode)
    frame.begin(Run(returnsAfterSourceHandled: returnsAfterSourceHandled, servesMainQueue: servesMainQueue))
    frames.push(frame)
    runningMode.store(frame.mode.index, ordering: .relaxed)
    wakes.beginRun()
    depth &+= 1
    counters.pulse.setDepth(depth)
  }

  @inline(__always)
  func popFrame(_ frame: RunFrame) {
    assertOwnThread()
    frames.pop(frame)
    frame.mode.runEnded()
    runningMode.store(frames.innermostMode ?? -1, ordering: .relaxed)
    wasStopped = wakes.isStopped
    wakes.endRun()
    depth &-= 1
    if depth > 0 { return counters.pulse.setDepth(depth) }
    counters.pulse.rest()
    relayJobs()
  }

  /// Whether a turn of the mode has nothing to do but to wait: nothing was posted, signalled or queued, and no
  /// observer wants to hear of it.
  @inline(__always)
  func isQuiet(_ mode: ModeState) -> Bool {
    !wakeup.has(.all) && agenda.isEmpty && mode.agenda.isSubset(of: .runs) && !isEmpty(mode)
  }

  /// Whether nothing but observers is left in the mode. See `__CFRunLoopModeIsEmpty`.
  @inline(__always)
  func isEmpty(_ mode: ModeState) -> Bool {
    assertOwnThread()
    return mode.itemCount == 0 && !timers.hasKept(in: mode) && hasNothingToServe(mode)
  }

  @inline(never)
  private func hasNothingToServe(_ mode: ModeState) -> Bool {
    assertOwnThread()
    return !servesMainQueue(in: mode) && !hasBlocks(in: mode) && !hasJobs(in: mode)
      && (foreignLoop?.isEmpty(mode.name!) ?? true)
  }

  /// Whether a block waits for a run of the mode.
  func hasBlocks(in mode: ModeState) -> Bool {
    assertOwnThread()
    return !blocks.isEmpty && blocks.contains(for: mode)
  }

  /// Whether a run in the mode serves the main dispatch queue.
  func servesMainQueue(in mode: ModeState) -> Bool {
    assertOwnThread()
    return isMain && mode.isCommon && !isDrainingMainQueue
  }
}

/// What mail leads to outside the loop, once all of it has been applied.
enum AfterMail {
  /// A common source joined a mode that has become common.
  case callSchedule(Loop.Source, mode: Int)
  /// A source has lost its file.
  case invalidate(RejectedSource)
  /// An item has left modes, or the loop; its closures may die.
  case left(Loop.Item, Departure)
  /// Mail had a reference to an item that has no slot here. It may be the last.
  case letGo(Loop.Item)
}
