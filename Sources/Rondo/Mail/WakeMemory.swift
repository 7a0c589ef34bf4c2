/// What the runs under way remember of wakeups and stops, as a pure state machine.
///
/// Before a turn's wait, a wakeup makes that wait return at once. After the wait it changes nothing: another turn follows. A
/// wakeup concerns every run under way, a stop the innermost run alone. `LoopCore` reports what happens, and the tests
/// report everything that can.
package struct WakeMemory: Hashable, Sendable {
  private struct Run: Hashable {
    /// When the wakeup came that is remembered.
    var wokenAt = Instant.distantPast
    var isStopped = false
    var isWoken = false
    /// The next wait is still to come, and shall know of a wakeup.
    var keepsWakes = true
    /// A source is being performed: the turn will poll and go round, whatever a nested run is woken for.
    var isPerformingSource = false

    @inline(__always)
    mutating func note(at time: Instant) {
      guard keepsWakes, !isWoken else { return }
      isWoken = true
      wokenAt = time
    }
  }

  private var innermost = Run()
  /// The runs around it, the outermost first.
  private var outer: ContiguousArray<Run> = []
  private var isRunning = false

  package init() {}

  /// The innermost run shall end with its turn.
  package var isStopped: Bool { innermost.isStopped }
  /// The next wait of the innermost run returns at once.
  package var isWoken: Bool { innermost.isWoken }
  /// When the wakeup came because of which it does.
  package var wokenAt: Instant { innermost.wokenAt }
  /// A wakeup that comes now would be remembered by the innermost run.
  package var heeds: Bool { isRunning && innermost.keepsWakes }

  // MARK: - What comes

  /// A wakeup, for every run under way.
  ///
  /// - Returns: False if there is none.
  @inline(__always)
  @discardableResult
  package mutating func wake(at time: Instant) -> Bool {
    guard isRunning else { return false }
    innermost.note(at: time)
    if !outer.isEmpty { wakeOuter(at: time) }
    return true
  }

  @inline(never)
  private mutating func wakeOuter(at time: Instant) {
    for index in outer.indices where !outer[index].isPerformingSource { outer[index].note(at: time) }
  }

  /// A stop, for the innermost run.
  ///
  /// - Returns: False if there is none.
  @discardableResult
  package mutating func stop(at time: Instant) -> Bool {
    guard isRunning else { return false }
    innermost.isStopped = true
    innermost.note(at: time)
    return true
  }

  /// What others have posted.
  package mutating func absorb(_ bits: WakeProtocol.Bits, at time: Instant) {
    if bits.contains(.stop) { stop(at: time) }
    if bits.contains(.wake) { wake(at: time) }
  }

  // MARK: - What the innermost run does

  /// A run begins. What came before it belongs to the run around it, if there is one.
  package mutating func beginRun() {
    if isRunning { outer.append(innermost) }
    innermost = Run()
    isRunning = true
  }

  @inline(__always)
  package mutating func endRun() {
    if !outer.isEmpty { return resumeOuter() }
    isRunning = false
    innermost = Run()
  }

  @inline(never)
  private mutating func resumeOuter() { innermost = outer.removeLast() }

  package mutating func beginTurn() { innermost.keepsWakes = true }

  package mutating func beginSource() { innermost.isPerformingSource = true }
  package mutating func endSource() { innermost.isPerformingSource = false }

  /// The wait is over, and a wakeup has had its effect.
  package mutating func waitEnded() {
    innermost.isWoken = false
    innermost.keepsWakes = false
  }

  /// The run goes round now. What it remembers is kept for its next wait, and what comes later is not remembered.
  package mutating func carryOver() { innermost.keepsWakes = false }
}
