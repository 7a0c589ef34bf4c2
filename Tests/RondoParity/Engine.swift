/// What a scenario needs of a loop; one conformer per loop under comparison.
///
/// An engine belongs to the thread that made it. Adding, signalling, waking and stopping may come from a helper thread.
protocol Engine: AnyObject, Sendable {
  /// The same items seen from the calling thread's own loop.
  func forCallingThread() -> any Engine

  /// Makes an item; a timer's date counts from `origin`, in monotonic milliseconds.
  func make(_ item: Scenario.Item, from origin: Double)
  /// The items are in their modes; what takes a while is done now, before time counts.
  func prepare()
  func add(_ name: String, to mode: String)
  func remove(_ name: String, from mode: String)
  func contains(_ name: String, in mode: String) -> Bool
  func invalidate(_ name: String)
  func isValid(_ name: String) -> Bool
  func isSignalled(_ name: String) -> Bool
  func setFireDate(_ name: String, milliseconds: Double)

  func signal(_ name: String)
  func write(_ name: String)
  func hangUp(_ name: String)
  /// Whether a change from another thread, not made yet, wakes Rondo and would leave this loop asleep.
  func needsWake(for change: Scenario.Action) -> Bool
  func wake()
  func stop()
  func requestStop(_ mode: String)
  func perform(_ name: String, in modes: [String])
  func addCommonMode(_ mode: String)

  func run(_ mode: String, milliseconds: Double, handled: Bool) -> RunOutcome
  func runForever()

  var currentMode: String? { get }
  var modes: [String] { get }
  var isWaiting: Bool { get }
  /// When the mode's next timer fires, in monotonic milliseconds.
  func nextFireDate(in mode: String) -> Double?

  /// Lets go of every item; called after the loop's thread has ended.
  func tearDown()
}

/// Where callouts arrive; both engines report to it.
protocol CalloutHost: AnyObject, Sendable {
  /// A source, timer, block or observer was called; `phase` is an observer's. Its script runs inside.
  func callout(_ name: String, phase: Phases?)
  /// A source was scheduled in (`+`) or cancelled from (`-`) a mode; the script of the sign and name runs inside.
  func announce(_ sign: String, of name: String, mode: String)
  /// The oracle met one of the behaviours Rondo decided against; the trace proves nothing about Rondo.
  func note(quirk: String)
}
