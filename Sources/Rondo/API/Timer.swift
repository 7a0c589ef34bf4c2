import CLinux
import Synchronization

extension Loop {
  /// Calls its handler at a date, or at each point of a fixed grid. See CFRunLoopTimer.
  ///
  /// A timer is in one loop at a time, in several modes. It is never early. It is due at the latest when its tolerance
  /// has passed; it fires then if the loop is running one of its modes, and later if the loop is busy. Grid points that
  /// pass while the loop is busy are merged into one fire and counted. Use every member from any thread except
  /// `fire()`.
  public class Timer: Item, @unchecked Sendable {
    /// *until released* Called on the loop's thread.
    @safe @exclusivity(unchecked) private(set) var handler: ((Tick) -> Void)?
    /// *atomic* The next fire date. The heaps hold lower bounds of it.
    private let plannedDate: PlannedDate
    /// *atomic* Nanoseconds between fires; 0 for a one-shot.
    private let plannedInterval: Atomic<Int64>
    /// *atomic* Nanoseconds of tolerance; complemented, and so negative, for a precise timer.
    private let plannedTolerance: Atomic<Int64>

    @inline(__always)
    init(_ schedule: Schedule, order: Int, _ label: Label, handler: sending @escaping (Tick) -> Void) {
      self.handler = handler
      plannedDate = PlannedDate(schedule.fireDate)
      plannedInterval = Atomic(schedule.interval)
      plannedTolerance = Atomic(schedule.tolerance)
      super.init(kind: .timer, order: order, label)
    }

    /// Makes a timer that fires once, `delay` from now. Any thread.
    ///
    /// - Parameters:
    ///   - tolerance: How much later it may fire so that the loop can share wakeups. Not negative.
    ///   - order: Decides between timers of the same nanosecond: lower fires first.
    ///   - handler: Called on the loop's thread.
    public convenience init(
      after delay: Duration, tolerance: Duration = .zero, order: Int = 0,
      fileID: StaticString = #fileID, line: UInt = #line, handler: sending @escaping (Tick) -> Void
    ) {
      let now = Loop.clockOfThread
      self.init(
        Timer.makeSchedule(Schedule.date(after: delay, from: now), every: nil, tolerance, fileID, line),
        order: order, Label(fileID: fileID, line: line), handler: handler)
    }

    /// Makes a timer that fires every `interval`, first one interval from now. Any thread.
    public convenience init(
      every interval: Duration, tolerance: Duration = .zero, order: Int = 0,
      fileID: StaticString = #fileID, line: UInt = #line, handler: sending @escaping (Tick) -> Void
    ) {
      let now = Loop.clockOfThread
      self.init(
        Timer.makeSchedule(Schedule.date(after: interval, from: now), every: interval, tolerance, fileID, line),
        order: order, Label(fileID: fileID, line: line), handler: handler)
    }

    /// Makes a timer that fires at `date`, then every `interval` if you give one. Any thread.
    ///
    /// A date in the past counts as now, and the grid begins there. The clock stops while the machine is suspended.
    public convenience init(
      at date: SuspendingClock.Instant, every interval: Duration? = nil, tolerance: Duration = .zero, order: Int = 0,
      fileID: StaticString = #fileID, line: UInt = #line, handler: sending @escaping (Tick) -> Void
    ) {
      self.init(
        Timer.makeSchedule(
          Schedule.date(at: Instant(date), from: Loop.clockOfThread), every: interval, tolerance, fileID, line),
        order: order, Label(fileID: fileID, line: line), handler: handler)
    }

    /// Makes a timer that fires at `date` of the clock that counts suspended time.
    ///
    /// The date is converted once, in this call. If the machine is suspended before the fire, the timer is late by the
    /// suspended time.
    public convenience init(
      at date: ContinuousClock.Instant, every interval: Duration? = nil, tolerance: Duration = .zero, order: Int = 0,
      fileID: StaticString = #fileID, line: UInt = #line, handler: sending @escaping (Tick) -> Void
    ) {
      let suspended = rondo_boottime_now() - rondo_monotonic_now()
      self.init(
        Timer.makeSchedule(
          Schedule.date(at: Instant(date, suspended: suspended), from: Loop.clockOfThread), every: interval, tolerance,
          fileID, line),
        order: order, Label(fileID: fileID, line: line), handler: handler)
    }

    /// The date of the next fire. Setting it moves the origin of the grid. Any thread.
    ///
    /// In the callout of a repeating timer, it is the date after the one that fires; ``Tick/scheduled`` is that one.
    /// A date in the past counts as now. Setting it reads the clock and makes one atomic exchange; a later date is
    /// O(1), an earlier one O(log n). From another thread, an earlier date wakes the loop.
    public var fireDate: SuspendingClock.Instant {
      get { schedule.fireDate.suspending }
      set {
        setFireDate { Schedule.date(at: Instant(newValue), from: $0) }
      }
    }

    /// Sets the date for a caller that may hold a lock: calls nothing of the user's. Any thread.
    package func setFireDateQuietly(_ date: SuspendingClock.Instant) {
      setFireDate(isQuiet: true) { Schedule.date(at: Instant(date), from: $0) }
    }

    /// Moves the next fire to `delay` from now. Any thread.
    ///
    /// It is like setting ``fireDate``, without a clock instant.
    public func setFireDate(after delay: Duration) {
      setFireDate { Schedule.date(after: delay, from: $0) }
    }

    /// The time between fires; zero for a one-shot. Any thread.
    ///
    /// A new value takes effect after the next fire. Setting it on a one-shot traps.
    public var interval: Duration {
      get { .nanoseconds(schedule.interval) }
      set {
        let nanoseconds = Schedule.validInterval(newValue)
        guard isValid else { return }
        require(
          schedule.interval > 0, "A one-shot timer has no interval to set. Make a repeating timer with Timer(every:).")
        plannedInterval.store(nanoseconds, ordering: .relaxed)
        noteReschedule()
      }
    }

    /// How much later than its date the timer may fire. Not negative. Any thread.
    ///
    /// Of a repeating timer, at most half the interval counts.
    public var tolerance: Duration {
      get { .nanoseconds(schedule.effectiveTolerance) }
      set {
        let nanoseconds = Schedule.validTolerance(newValue)
        setTolerance { $0 < 0 ? ~nanoseconds : nanoseconds }
      }
    }

    /// Whether the loop spins shortly before the timer's date instead of sleeping. False at first.
    ///
    /// A sleeping thread wakes tens of microseconds late. For a precise timer the loop sleeps until a learned margin
    /// before the date and spins from there, if its ``Loop/precisionBudget`` allows. The loop serves descriptors and
    /// posts during the spin. The timer's tolerance does not count.
    public var isPrecise: Bool {
      get { schedule.isPrecise }
      set { setTolerance { ($0 < 0) == newValue ? $0 : ~$0 } }
    }

    /// Whether the timer fires more than once.
    public var repeats: Bool {
      schedule.interval > 0
    }

    /// Calls the handler now, on the thread of the timer's loop. Calls out.
    ///
    /// The grid of a repeating timer does not change. A one-shot timer is invalid afterwards, unless the handler gave
    /// it another date. On another thread the call traps.
    public func fire() {
      require(
        fireAtHome() == nil,
        "Timer.fire() belongs on the thread of the timer's loop. Use loop.perform { timer.fire() }.")
    }

    /// The same for a caller who may be on another thread. Calls out.
    ///
    /// - Returns: The loop the timer is in if that is another thread's. Nothing is called then.
    package func fireAtHome() -> Loop? {
      let loop = loop
      if let loop, !loop.isCurrent { return loop }
      holdHandlers()
      defer { unholdHandlers() }
      guard isValid else { return nil }
      let date = schedule.fireDate
      let isLast = schedule.interval == 0 && plannedDate.spend(date)
      callOutTimer(self, Tick(timer: self, scheduledAt: date, firedAt: loop?.now ?? Loop.clockOfThread, missed: 0))
      if isLast, hasNothingToFire { invalidate() }
      return nil
    }

    override func releaseHandlers() {
      handler = nil
    }

    /// When it fires, as set last.
    @inline(__always)
    var schedule: Schedule {
      let tolerance = plannedTolerance.load(ordering: .relaxed)
      return Schedule(
        fireDate: plannedDate.date,
        interval: plannedInterval.load(ordering: .relaxed), tolerance: tolerance < 0 ? ~tolerance : tolerance,
        isPrecise: tolerance < 0)
    }

    /// Sets the date. A later date changes no entry of the loop's heaps: they are lower bounds.
    @inline(__always)
    private func setFireDate(isQuiet: Bool = false, _ makeDate: (_ now: Instant) -> Instant) {
      guard isValid else { return }
      if let loop = unsafe ownLoop {
        return unsafe loop._withUnsafeGuaranteedRef { loop in
          plannedDate.set(makeDate(loop.now))
          loop.noteDate(of: self, isQuiet: isQuiet)
        }
      }
      let date = makeDate(loop?.now ?? Loop.clockOfThread)
      plannedDate.set(date)
      // The owner is read after the date is set, or a loop that the timer joins in between might miss the date.
      noteReschedule()
    }

    private func setTolerance(_ change: (Int64) -> Int64) {
      guard isValid else { return }
      var old = plannedTolerance.load(ordering: .relaxed)
      while true {
        let (exchanged, seen) = plannedTolerance.compareExchange(
          expected: old, desired: change(old), ordering: .relaxed)
        if exchanged { break }
        old = seen
      }
      noteReschedule()
    }

    /// Tells the loop of a change.
    private func noteReschedule() {
      loop?.noteReschedule(of: self)
    }

    /// Whether it is a one-shot whose only fire has begun or is over.
    @inline(__always)
    var hasNothingToFire: Bool { plannedDate.isSpent }

    /// The date as set last, or the last one that it fired for.
    @inline(__always)
    var date: Instant { plannedDate.date }

    /// A fire that begins.
    struct Fire {
      let date: Instant
      /// The next grid point of a repeating timer.
      let next: Instant?
      /// How many grid points between the two have passed.
      let passed: Int
    }

    /// Begins the fire of a date that has passed: a one-shot has none left, a repeating timer moves along its grid.
    ///
    /// - Returns: Nil if the date has not passed, or another date was set.
    @inline(__always)
    func beginFire(of date: Instant, by now: Instant) -> Fire? {
      guard date <= now else { return nil }
      let interval = plannedInterval.load(ordering: .relaxed)
      if interval == 0 { return plannedDate.spend(date) ? Fire(date: date, next: nil, passed: 0) : nil }
      let (next, passed) = Schedule.nextGridPoint(after: now, from: date, interval: interval)
      return plannedDate.replace(date, by: next) ? Fire(date: date, next: next, passed: passed) : nil
    }

    /// - Parameters:
    ///   - fileID: Where the timer is made, for a message that ends the process.
    private static func makeSchedule(
      _ date: Instant, every interval: Duration?, _ tolerance: Duration, _ fileID: StaticString, _ line: UInt
    ) -> Schedule {
      Schedule(
        fireDate: date, interval: interval.map { Schedule.validInterval($0, fileID: fileID, line: line) } ?? 0,
        tolerance: Schedule.validTolerance(tolerance, fileID: fileID, line: line))
    }
  }
}
