/// One run, possibly nested: what it was given, what its turn knows, and its buffers. *loop thread*
///
/// Its mode keeps it for as long as the loop lives, so that a run borrows it and no step of a turn retains anything.
@safe final class RunFrame {
  /// *constant* The mode being run. A constant, so that no step of a turn retains it.
  let mode: ModeState
  /// The frame of the run around this one, while there is one.
  @safe @exclusivity(unchecked) fileprivate var outer: Unmanaged<RunFrame>?
  @safe @exclusivity(unchecked) var run = Run(returnsAfterSourceHandled: false, servesMainQueue: false)
  /// Replaced by each turn.
  @safe @exclusivity(unchecked) var turn = Turn()
  /// The item whose callout this run is in; the phase that made the callout holds a reference to it.
  @safe @exclusivity(unchecked) var calling: ObjectIdentifier?
  /// What the wait collected.
  @safe @exclusivity(unchecked) var ready = ReadyList()
  /// Timers to fire in this turn, and how far it is through them.
  @safe @exclusivity(unchecked) var due: ContiguousArray<DueTimer> = []
  @safe @exclusivity(unchecked) var nextDue = 0
  /// Blocks taken off the queue by the drain under way.
  @safe @exclusivity(unchecked) var blocks: [Block] = []

  init(mode: ModeState) {
    self.mode = mode
  }

  /// Begins a run.
  @inline(__always)
  func begin(_ run: Run) {
    self.run = run
    turn = Turn()
    ready.removeAll()
  }

  /// Begins a turn. What the one before collected has been passed on, so no run nested in this one is to find it.
  @inline(__always)
  func beginTurn() {
    turn = Turn(after: turn)
    ready.removeAll()
  }
}

/// The frames of the runs under way, the innermost first; their modes own them. *loop thread*
@safe struct FrameStack: Sequence {
  private var innermost: Unmanaged<RunFrame>?

  @inline(__always)
  mutating func push(_ frame: RunFrame) {
    unsafe frame.outer = innermost
    unsafe innermost = .passUnretained(frame)
  }

  /// Takes the innermost off: `frame`.
  @inline(__always)
  mutating func pop(_ frame: RunFrame) {
    unsafe innermost = frame.outer
    frame.outer = nil
  }

  /// The index of the mode that the innermost run is in; nil outside of runs.
  @inline(__always)
  var innermostMode: Int? { unsafe innermost?._withUnsafeGuaranteedRef { $0.mode.index } }

  /// When the innermost run times out.
  var innermostDeadline: Instant { first { _ in true }?.run.deadline ?? .distantFuture }

  /// Whether one of the runs is in a callout of the item.
  @inline(__always)
  func isCalling(_ item: ObjectIdentifier) -> Bool {
    var next = unsafe innermost
    while let frame = unsafe next {
      if unsafe frame._withUnsafeGuaranteedRef({ $0.calling }) == item { return true }
      unsafe next = frame._withUnsafeGuaranteedRef { $0.outer }
    }
    return false
  }

  func makeIterator() -> Iterator { unsafe Iterator(frame: innermost) }

  @safe struct Iterator: IteratorProtocol {
    fileprivate var frame: Unmanaged<RunFrame>?

    mutating func next() -> RunFrame? {
      let found = unsafe frame?.takeUnretainedValue()
      unsafe frame = found?.outer
      return found
    }
  }
}

/// What a run was given.
struct Run {
  let returnsAfterSourceHandled: Bool
  let servesMainQueue: Bool
  /// When it times out, set after the entry observers; `.distantPast` for one turn that only polls.
  var deadline = Instant.distantFuture

  /// The run polls once and times out.
  @inline(__always)
  var isInstant: Bool { deadline == .distantPast }
}

/// What one turn knows.
struct Turn {
  /// The turn before slept, so the kernel has reported what was ready a moment ago.
  let followsSleep: Bool
  /// The turn before served the main queue, so this one lets the others go first.
  let followsMainQueue: Bool
  /// Before its wait, the turn had nothing to do.
  var isQuiet = false
  /// A source was handled in this turn.
  var hasHandledSource = false
  /// This turn only polls, without sleeping and without its two observers.
  var polls = false
  var hasSlept = false
  var isMainQueueReady = false
  var hasServedMainQueue = false
  /// The run returns after one source, and an earlier one served a descriptor before the main queue: now it is the queue's turn.
  var keepsDescriptorsBack = false
  /// False only while one event a turn is served and it is another one.
  var firesTimers = true
  /// A script in virtual time had no further event.
  var isExhausted = false
  /// How far the turn is through the descriptors that its wait collected.
  var nextReady = 0
  /// Counts the waits of the loop at the time this turn collected, to notice a nested run that has waited since.
  var waitsWhenCollected: UInt64 = 0

  @inline(__always)
  init(after previous: Turn) {
    followsSleep = previous.hasSlept
    followsMainQueue = previous.hasServedMainQueue
  }

  /// Before the first turn, which lets the others go before the main queue.
  init() {
    followsSleep = false
    followsMainQueue = false
    hasServedMainQueue = true
  }
}

/// When a run shall end.
enum RunLimit {
  case forever
  /// Nanoseconds from the end of the entry observers; none left means one turn that polls.
  case duration(Int64)
  case until(Instant)
}
