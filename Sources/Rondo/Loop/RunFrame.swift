/// One run, possibly nested: what it was given, what its turn knows, and its buffers. *loop thread*
///
/// A mode keeps the frames of runs that are over for later ones.
final class RunFrame {
  /// *constant* The mode being run. A constant, so that no step of a turn retains it.
  let mode: ModeState
  @safe @exclusivity(unchecked) var run: Run
  /// Begun anew by each turn.
  @safe @exclusivity(unchecked) var turn = Turn()
  /// The item whose callout this run is in; whoever made the callout keeps it.
  @safe @exclusivity(unchecked) var calling: ObjectIdentifier?
  /// What the wait collected.
  @safe @exclusivity(unchecked) var ready: ContiguousArray<ReadyDescriptor> = []
  /// Timers to fire in this turn, and how far it is through them.
  @safe @exclusivity(unchecked) var due: ContiguousArray<DueTimer> = []
  @safe @exclusivity(unchecked) var nextDue = 0
  /// Blocks taken off the queue by the drain under way.
  @safe @exclusivity(unchecked) var blocks: [Block] = []

  init(mode: ModeState, run: Run) {
    self.mode = mode
    self.run = run
  }

  /// Begins another run in the frame of one that is over, which has left its buffers empty.
  func reuse(for run: Run) {
    self.run = run
    turn = Turn()
  }
}

/// What a run was given.
struct Run {
  let returnsAfterSourceHandled: Bool
  let servesMainQueue: Bool
  /// When it times out, set after the entry observers; `.distantPast` for one turn that only looks.
  var deadline = Instant.distantFuture

  /// The run polls once and times out.
  @inline(__always)
  var isInstant: Bool { deadline == .distantPast }
}

/// What one turn knows.
struct Turn {
  /// The turn before slept, so the kernel has told what was ready a moment ago.
  let followsSleep: Bool
  /// The turn before served the main queue, so this one lets the others go first.
  let followsMainQueue: Bool
  /// A source was handled in this turn.
  var hasHandledSource = false
  /// This turn only looks, without sleeping and without its two observers.
  var polls = false
  var hasSlept = false
  var isMainQueueReady = false
  var hasServedMainQueue = false
  /// False only while one event a turn is served and it is another one.
  var firesTimers = true
  /// A script in virtual time had nothing more to tell.
  var isExhausted = false
  /// How far the turn is through the descriptors that its wait collected.
  var nextReady = 0
  /// Counts the waits of the loop at the time this turn collected, to notice a nested run that waited meanwhile.
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

/// A descriptor the wait found ready.
struct ReadyDescriptor {
  var token: Token
  var readiness: Loop.DescriptorSource.Readiness
}

/// When a run shall end.
enum RunLimit {
  case forever
  /// Nanoseconds from the end of the entry observers; none left means one turn that polls.
  case duration(Int64)
  case until(Instant)
}
