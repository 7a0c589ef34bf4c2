import CDaemon
import Glibc
public import Rondo
import RondoSockets

/// Calls its handler at dates of the calendar. Or by the clock that counts suspended time too. See timerfd_create(2).
///
/// A `Loop.Timer` goes by a clock that nobody sets and that stands still while the machine is suspended. This one
/// goes by the clock that people mean when they write a time: it is judged anew when somebody sets that clock. It is
/// never early. Dates that pass while the loop is busy, or not running, or that a clock set forward has skipped, are told
/// as one call.
///
/// ```swift
/// let rule = try CalendarRule("30 3 * * mon-fri", in: .local)
/// let backup = try ClockTimer(by: rule) { _, tick in log.note("\(tick.missed) missed") }
/// loop.add(backup)
/// ```
///
/// Where the kernel refuses to watch it, the timer is invalid, which `failure` and a line on stderr say.
///
/// Dates are durations since the beginning of the clock. Where a clock is set back, dates come again. The date told last
/// is not told twice, so that a small correction has no job run again; those before it are told anew.
public struct ClockTimer: DaemonSource {
  private let item: Loop.DescriptorSource
  private let alarm: ClockAlarm

  /// Which clock it goes by.
  public enum Clock: Hashable, Sendable {
    /// The calendar, since 1970-01-01 00:00 UTC. It can be set: CLOCK_REALTIME.
    case realTime
    /// Since the machine was started, suspended or not: CLOCK_BOOTTIME.
    case bootTime

    /// What it shows. Any thread.
    public var now: Duration { .nanoseconds(nanoseconds) }

    var nanoseconds: Int64 { rondo_clock_now(kind) }

    var kind: rondo_clock { self == .realTime ? RONDO_REAL_TIME : RONDO_BOOT_TIME }
  }

  /// What a callout learns about its date.
  public struct Tick: Hashable, Sendable {
    /// The date it is for: the first that had not been told.
    public let scheduled: Duration
    /// What the clock showed when the loop came to serve it.
    public let actual: Duration
    /// How many more dates have come since. Of a rule's, the first 1,000 are counted.
    public let missed: Int

    /// How late it is; never negative.
    public var lateness: Duration { actual - scheduled }
  }

  /// A timer that fires once, at `date` of its clock. It fires at once if that is over. It is invalid then. Costs a
  /// descriptor.
  ///
  /// - Parameter handler: Called on the loop's thread.
  /// - Throws: `.exhausted`, `.noMemory`, `.system`.
  public init(
    at date: Duration, on clock: Clock = .realTime, order: Int = 0, fileID: StaticString = #fileID,
    line: UInt = #line, handler: sending @escaping (ClockTimer, Tick) -> Void
  ) throws(ClockError) {
    try self.init(.once(date.saturatingNanoseconds), clock, order, Label(fileID: fileID, line: line), handler)
  }

  /// A timer that fires whenever its clock shows a multiple of `interval`: full hours, say. Costs a descriptor.
  ///
  /// - Parameters:
  ///   - interval: At least a nanosecond.
  ///   - offset: How much later than the multiples.
  ///   - handler: Called on the loop's thread.
  /// - Throws: `.exhausted`, `.noMemory`, `.system`.
  public init(
    every interval: Duration, offset: Duration = .zero, on clock: Clock = .realTime, order: Int = 0,
    fileID: StaticString = #fileID,
    line: UInt = #line, handler: sending @escaping (ClockTimer, Tick) -> Void
  ) throws(ClockError) {
    contract(
      interval > .zero, "A timer's interval is more than nothing. Use ClockTimer(at:) for one that fires once.",
      file: fileID,
      line: line)
    let grid = ClockDates.grid(interval: interval.saturatingNanoseconds, offset: offset.saturatingNanoseconds)
    try self.init(grid, clock, order, Label(fileID: fileID, line: line), handler)
  }

  /// A timer that fires at the dates of a rule, until the rule says nil. Costs a descriptor.
  ///
  /// - Parameters:
  ///   - rule: The first date after the one it is given; the same answer to the same question. Called on any thread.
  ///   - handler: Called on the loop's thread.
  /// - Throws: `.exhausted`, `.noMemory`, `.system`.
  public init(
    by rule: @escaping @Sendable (Duration) -> Duration?, on clock: Clock = .realTime, order: Int = 0,
    fileID: StaticString = #fileID,
    line: UInt = #line, handler: sending @escaping (ClockTimer, Tick) -> Void
  ) throws(ClockError) {
    try self.init(.rule(rule), clock, order, Label(fileID: fileID, line: line), handler)
  }

  /// A timer that fires at the dates of a calendar's rule, from now on. Costs a descriptor.
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

  /// Which clock it goes by.
  public var clock: Clock { alarm.clock }

  /// The date it waits for; nil for none any more. Any thread.
  public var nextDate: Duration? { isValid ? alarm.next.map { .nanoseconds($0) } : nil }

  public var items: [Loop.Item] { [item] }
}

/// Why there can be no timer on a clock.
public enum ClockError: Error, Hashable, Sendable, CustomStringConvertible {
  /// No descriptor is left.
  case exhausted
  /// The kernel has no memory left for it.
  case noMemory
  /// Anything else: errno.
  case system(errno: CInt)

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
