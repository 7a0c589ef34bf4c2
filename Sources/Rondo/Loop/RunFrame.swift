/// What one run, possibly nested, remembers. Kept and reused by its mode. *loop thread*
final class RunFrame {
  /// *constant* The mode being run. A constant, so that no step of a turn retains it.
  let mode: ModeState
  /// When the run times out; `.distantFuture` for never.
  @safe @exclusivity(unchecked) var deadline = Instant.distantFuture
  /// When the run shall end, as asked for; the clock starts after the entry observers.
  @safe @exclusivity(unchecked) var limit = RunLimit.forever
  /// The run polls once and times out.
  @safe @exclusivity(unchecked) var isInstant = false
  @safe @exclusivity(unchecked) var returnsAfterSourceHandled = false
  /// The item whose callout this run is in; whoever made the callout keeps it.
  @safe @exclusivity(unchecked) var calling: ObjectIdentifier?
  /// Whether this run serves the main dispatch queue: decided once.
  @safe @exclusivity(unchecked) var servesMainQueue = false
  /// The last turn served the main queue, so the next one lets the others go first.
  @safe @exclusivity(unchecked) var justServedMainQueue = true
  /// A source was handled in this turn.
  @safe @exclusivity(unchecked) var hasHandledSource = false
  /// The turn before slept, so the kernel has told what was ready a moment ago.
  @safe @exclusivity(unchecked) var hasJustSlept = false
  /// This turn only looks, without sleeping and without its two observers.
  @safe @exclusivity(unchecked) var polls = false
  /// The main queue was found ready before sleeping.
  @safe @exclusivity(unchecked) var foundMainQueueReady = false
  /// What the wait collected.
  @safe @exclusivity(unchecked) var ready: ContiguousArray<ReadyDescriptor> = []
  @safe @exclusivity(unchecked) var isMainQueueReady = false
  /// Counts the waits of the loop at the time this turn collected, to notice a nested run that waited meanwhile.
  @safe @exclusivity(unchecked) var waitsWhenCollected: UInt64 = 0
  /// Timers to fire in this turn, and how far it is through them.
  @safe @exclusivity(unchecked) var due: ContiguousArray<DueTimer> = []
  @safe @exclusivity(unchecked) var nextDue = 0
  /// This turn fires timers: false only while one event a turn is served and it was another one.
  @safe @exclusivity(unchecked) var servesTimers = true
  /// A script in virtual time had nothing more to tell.
  @safe @exclusivity(unchecked) var isExhausted = false
  /// Blocks taken off the queue by the drain under way.
  @safe @exclusivity(unchecked) var blocks: [Block] = []

  init(mode: ModeState) {
    self.mode = mode
  }

  func begin(limit: RunLimit, returnsAfterSourceHandled: Bool) {
    self.limit = limit
    self.returnsAfterSourceHandled = returnsAfterSourceHandled
    isInstant = false
    justServedMainQueue = true
    hasHandledSource = false
    hasJustSlept = false
    isExhausted = false
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
