import CRondoDaemon
import Glibc
public import Rondo
import RondoSockets

/// Calls its handler at dates of the calendar, or of the clock since boot.
///
/// A `Loop.Timer` uses a clock that cannot be set and that stops while the machine is suspended. This timer uses the
/// calendar's clock, or the clock since boot: if the clock is set, it computes its next date again. It is never early.
/// Dates that pass while the loop is busy or not running, or that a clock set forward skips, cause one call together.
/// See timerfd_create(2).
///
/// ```swift
/// let rule = try CalendarRule("30 3 * * mon-fri", in: .local)
/// let backup = try ClockTimer(by: rule) { _, tick in log.note("\(tick.missed) missed") }
/// loop.add(backup)
/// ```
///
/// If the kernel refuses to watch the timer's descriptor, the timer becomes invalid: `failure` has the reason, and one
/// line goes to stderr.
///
/// Dates are durations since the epoch of the clock. If the clock is set back, dates come again. The timer does not
/// repeat its last date, so a small correction runs no job twice; it repeats earlier dates.
public struct ClockTimer: DaemonSource {
  private let item: Loop.DescriptorSource
  private let alarm: ClockAlarm

  /// A clock that timers can use.
  public enum Clock: Hashable, Sendable {
    /// The calendar, since 1970-01-01 00:00 UTC: CLOCK_REALTIME. It can be set.
    case realTime
    /// The time since the machine started, suspended time included: CLOCK_BOOTTIME.
    case bootTime

    /// The clock's present time, since its epoch. Any thread.
    public var now: Duration { .nanoseconds(nanoseconds) }

    var nanoseconds: Int64 { rondo_clock_now(kind) }

    var kind: rondo_clock { self == .realTime ? RONDO_REAL_TIME : RONDO_BOOT_TIME }
  }

  /// One fire of a clock timer.
  public struct Tick: Hashable, Sendable {
    /// The first date that had no call yet, since the epoch of the clock.
    public let scheduled: Duration
    /// The clock's time when the loop served the timer, since its epoch.
    public let actual: Duration
    /// How many more dates have passed since. Of a rule's dates, the first 1,000 are counted.
    public let missed: Int

    /// `actual - scheduled`; never negative.
    public var lateness: Duration { actual - scheduled }
  }

  /// Makes a timer that fires once, at `date` of its clock. Costs a descriptor.
  ///
  /// If the date has passed, the timer fires in the next turn. It is invalid when its handler is called.
  ///
  /// - Parameters:
  ///   - date: Since the epoch of `clock`: 1970-01-01 00:00 UTC for `.realTime`, the machine's start for `.bootTime`.
  ///   - handler: Called on the loop's thread.
  /// - Throws: `.exhausted`, `.noMemory`, `.system`.
  public init(
    at date: Duration, on clock: Clock = .realTime, order: Int = 0, fileID: StaticString = #fileID,
    line: UInt = #line, handler: sending @escaping (ClockTimer, Tick) -> Void
  ) throws(ClockError) {
    try self.init(.once(date.saturatingNanoseconds), clock, order, Label(fileID: fileID, line: line), handler)
  }

  /// Makes a timer that fires when its clock shows a multiple of `interval`. Costs a descriptor.
  ///
  /// With an interval of one hour, it fires at each full hour.
  ///
  /// - Parameters:
  ///   - interval: More than zero. Less than a nanosecond counts as one.
  ///   - offset: Added to each multiple.
  ///   - handler: Called on the loop's thread.
  /// - Throws: `.exhausted`, `.noMemory`, `.system`.
  public init(
    every interval: Duration, offset: Duration = .zero, on clock: Clock = .realTime, order: Int = 0,
    fileID: StaticString = #fileID,
    line: UInt = #line, handler: sending @escaping (ClockTimer, Tick) -> Void
  ) throws(ClockError) {
    require(
      interval > .zero, "A timer's interval is more than nothing. Use ClockTimer(at:) for one that fires once.",
      file: fileID,
      line: line)
    let grid = ClockDates.grid(interval: interval.saturatingNanoseconds, offset: offset.saturatingNanoseconds)
    try self.init(grid, clock, order, Label(fileID: fileID, line: line), handler)
  }

  /// Makes a timer that fires at the dates of a rule, until it returns nil.
  ///
  /// Costs a descriptor.
  ///
  /// - Parameters:
  ///   - rule: Returns the first date after its argument, both since the epoch of the clock. It must return the same
  ///     date for the same argument. Called on any thread.
  ///   - handler: Called on the loop's thread.
  /// - Throws: `.exhausted`, `.noMemory`, `.system`.
  public init(
    by rule: @escaping @Sendable (Duration) -> Duration?, on clock: Clock = .realTime, order: Int = 0,
    fileID: StaticString = #fileID,
    line: UInt = #line, handler: sending @escaping (ClockTimer, Tick) -> Void
  ) throws(ClockError) {
    try self.init(.rule(rule), clock, order, Label(fileID: fileID, line: line), handler)
  }

  /// Makes a timer that fires at the dates of a calendar rule. Costs a descriptor.
  ///
  /// - Throws: `.exhausted`, `.noMemory`, `.system`.
  public init(
    by rule: CalendarRule, order: Int = 0, fileID: StaticString = #fileID, line: UInt = #line,
    handler: sending @escaping (ClockTimer, Tick) -> Void
  ) throws(ClockError) {
    try self.init(.rule { rule.date(after: $0) }, .realTime, order, Label(fileID: fileID, line: line), handler)
  }

  private init(
    _ dates: ClockDates, _ clock: Clock, _ order: Int, _ label: Label,
    _ handler: sending @escaping (ClockTimer, Tick) -> Void
  ) throws(ClockError) {
    let alarm = try ClockAlarm(dates, clock)
    self.alarm = alarm
    do {
      item = try Loop.ReportedDescriptorSource(alarm.descriptor, for: .read, order: order) { item, readiness in
        if readiness == .givenUp, let reason = item.invalidationReason {
          return warn("the clock timer \(item.name) fires no more: \(reason).")
        }
        guard let tick = alarm.take() else { return }
        let timer = ClockTimer(item, alarm)
        if alarm.next == nil { timer.invalidate() }
        handler(timer, tick)
      }
      item.wasMade(at: label)
    } catch {
      throw .exhausted
    }
    if alarm.next == nil { item.invalidate() }
  }

  private init(_ item: Loop.DescriptorSource, _ alarm: ClockAlarm) {
    self.item = item
    self.alarm = alarm
  }

  /// The clock of the timer.
  public var clock: Clock { alarm.clock }

  /// The date of the next fire; nil if there is none. Since the epoch of the clock. Any thread.
  public var nextDate: Duration? { isValid ? alarm.next.map { .nanoseconds($0) } : nil }

  /// The items of the source: one descriptor source.
  public var items: [Loop.Item] { [item] }
}

/// Why a clock timer cannot be made.
public enum ClockError: Error, Hashable, Sendable, CustomStringConvertible {
  /// No descriptor is left.
  case exhausted
  /// The kernel has no memory left.
  case noMemory
  /// Any other error: errno.
  case system(errno: CInt)

  /// A sentence with the cause.
  public var description: String {
    switch self {
    case .exhausted: "no descriptor is left for a timer"
    case .noMemory: "the kernel has no memory left for a timer"
    case .system(let errno): "no timer can be had: \(describe(errno: errno))"
    }
  }

  init(errno: CInt) {
    switch errno {
    case EMFILE, ENFILE: self = .exhausted
    case ENOMEM: self = .noMemory
    default: self = .system(errno: errno)
    }
  }
}
