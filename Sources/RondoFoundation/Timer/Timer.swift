public import Foundation
import Rondo

/// Foundation's Timer, on Rondo. See NSTimer.
///
/// A timer is never early, and its tolerance takes effect. The loop keeps a scheduled timer. After the last fire the
/// timer is invalid, and has released its block. Use every member from any thread.
open class Timer: NSObject, @unchecked Sendable {
  /// The block of a timer.
  public typealias Block = @Sendable (Timer) -> Void

  /// *its own lock* Nothing is called, added or released inside.
  private let state: Guarded<State>
  /// Seconds between fires; 0 for a timer that fires once.
  private let interval: TimeInterval

  private struct State {
    /// The item until it is in a loop; from then on the loop keeps it, and with it the timer.
    var unscheduled: Loop.Timer?
    weak var item: Loop.Timer?
    /// What the item's callout goes through; the item keeps it, or scheduling would make a cycle.
    weak var link: Link?
    var block: Block?
    var userInfo: Carried?
    var plan: Plan
    /// Seconds, as asked for.
    var tolerance: TimeInterval = 0
  }

  /// A fire date as it was set, and where it lies on the clock the loop waits with.
  private struct Plan {
    /// What was set, which may be past or far away.
    var date: Date
    /// The same moment as the loop understands it.
    var instant: SuspendingClock.Instant
    /// The date of `instant`.
    var base: Date
  }

  /// What the user gave, for the user's own thread to look at.
  private struct Carried: @unchecked Sendable {
    let value: Any?
  }

  /// Keeps a scheduled timer alive for as long as the loop keeps the item.
  private final class Link: @unchecked Sendable {
    /// *constant* once set, before the item is in a loop.
    weak var timer: Timer?
    /// *its own lock*
    let keeper = Guarded<Timer?>(nil)

    func letGo() {
      let timer = keeper.withLock { $0.take() }
      _ = timer
    }
  }

  /// Makes a timer that fires at `date`, then every `interval` seconds if it repeats.
  ///
  /// Add it to a run loop. A date in the past counts as now. If a repeating timer's interval is not positive, it is
  /// 0.1 ms. See NSTimer.
  public init(
    fire date: Date, interval: TimeInterval, repeats: Bool, fileID: StaticString = #fileID, line: UInt = #line,
    block: @escaping Block
  ) {
    require(!interval.isNaN, "A timer's interval is a number of seconds, not NaN.", file: fileID, line: line)
    self.interval = repeats ? (interval > 0 ? max(interval, 1e-9) : 0.0001) : 0
    let link = Link()
    let delay = date.durationFromNow
    let handler: @Sendable (Loop.Timer.Tick) -> Void = { _ in link.timer?.callOut() }
    let item: Loop.Timer
    if self.interval > 0 {
      item = Loop.Timer(every: Duration(rounding: self.interval), fileID: fileID, line: line, handler: handler)
      item.setFireDate(after: delay)
    } else {
      item = Loop.Timer(after: delay, fileID: fileID, line: line, handler: handler)
    }
    let plan = Plan(date: date.limited, instant: item.fireDate, base: max(date, Date()))
    state = Guarded(State(unscheduled: item, item: item, link: link, block: block, plan: plan))
    super.init()
    link.timer = self
  }

  /// Makes a timer that fires after `interval` seconds, once or repeatedly.
  ///
  /// Add it to a run loop. The first fire is one interval away; Foundation on Linux fires it immediately.
  public convenience init(
    timeInterval interval: TimeInterval, repeats: Bool, fileID: StaticString = #fileID, line: UInt = #line,
    block: @escaping Block
  ) {
    self.init(
      fire: Date(timeIntervalSinceNow: interval), interval: interval, repeats: repeats, fileID: fileID, line: line,
      block: block)
    postpone(by: repeats ? timeInterval : interval)
  }

  /// Adds a new timer to the default mode of the calling thread's run loop.
  @available(*, noasync, message: "An async function has no run loop. Make the timer and add it to the one you mean.")
  @discardableResult
  open class func scheduledTimer(
    withTimeInterval interval: TimeInterval, repeats: Bool, fileID: StaticString = #fileID, line: UInt = #line,
    block: @escaping Block
  ) -> Timer {
    let timer = Timer(timeInterval: interval, repeats: repeats, fileID: fileID, line: line, block: block)
    RunLoop.current.add(timer, forMode: .default)
    return timer
  }

  // MARK: - Firing

  /// Calls the block now, on the calling thread. Calls out.
  ///
  /// A timer that does not repeat is invalid afterwards.
  open func fire() {
    guard isValid else { return }
    callOut()
  }

  /// Calls the block, and ends the timer if that was the last time: a date set in the block is too late. Calls out.
  private func callOut() {
    guard let block = state.withLock({ $0.block }) else { return }
    block(self)
    if interval == 0 { invalidate() }
  }

  // MARK: - Dates

  /// The date of the next fire. Setting it moves the origin of the grid.
  ///
  /// A date in the past counts as now, and a date more than 16 years ahead as 16 years ahead. The date of an invalid
  /// timer is 1 January 2001.
  open var fireDate: Date {
    get {
      guard let item = validItem else { return Date(timeIntervalSinceReferenceDate: 0) }
      let instant = item.fireDate
      let plan = state.withLock { $0.plan }
      if instant == plan.instant { return plan.date }
      return plan.base + plan.instant.duration(to: instant).seconds
    }
    set {
      setFireDate(newValue, after: newValue.durationFromNow)
    }
  }

  /// Puts the first fire exactly `seconds` from now, which a date could not say to the nanosecond.
  fileprivate func postpone(by seconds: TimeInterval) {
    setFireDate(Date(timeIntervalSinceNow: seconds), after: Duration(rounding: seconds))
  }

  private func setFireDate(_ date: Date, after delay: Duration) {
    guard let item = validItem else { return }
    item.setFireDate(after: delay)
    let plan = Plan(date: date.limited, instant: item.fireDate, base: max(date, Date()))
    state.withLock { $0.plan = plan }
  }

  /// The seconds between fires; 0 for a timer that does not repeat.
  open var timeInterval: TimeInterval {
    interval
  }

  /// How many seconds late the timer may fire, so that timers share wakeups.
  ///
  /// Of a repeating timer, at most half the interval counts. A negative value counts as zero. Foundation on Linux
  /// ignores it.
  open var tolerance: TimeInterval {
    get { state.withLock { $0.tolerance } }
    set {
      require(!newValue.isNaN, "A timer's tolerance is a number of seconds, not NaN.")
      let tolerance = interval > 0 ? min(max(newValue, 0), interval / 2) : max(newValue, 0)
      validItem?.tolerance = Duration(rounding: tolerance)
      state.withLock { $0.tolerance = tolerance }
    }
  }

  // MARK: - The end

  /// Removes the timer from its loop permanently, and releases its block.
  open func invalidate() {
    let item = state.withLock { $0.item }
    item?.invalidate()
    drop()
  }

  /// Whether the timer can still fire: false after the last fire or its loop's end.
  open var isValid: Bool {
    validItem != nil
  }

  /// The object given when the timer was made; nil after it was invalidated.
  open var userInfo: Any? {
    state.withLock { $0.userInfo }?.value
  }

  func setUserInfo(_ userInfo: Any?) {
    let carried = Carried(value: userInfo)
    state.withLock { $0.userInfo = carried }
  }

  private var validItem: Loop.Timer? {
    guard let item = state.withLock({ $0.item }), item.isValid else { return nil }
    return item
  }

  /// Releases what the user gave, outside the lock.
  private func drop() {
    let (item, block, userInfo) = state.withLock { state in
      (state.unscheduled.take(), state.block.take(), state.userInfo.take())
    }
    _ = (item, block, userInfo)
  }

  // MARK: - In a loop

  func schedule(in loop: Loop, forMode mode: Loop.Mode) {
    guard let item = validItem, let link = state.withLock({ $0.link }) else { return }
    link.keeper.withLock { $0 = self }
    let isMember = loop.add(item, to: mode)
    let unscheduled = state.withLock { state in isMember ? state.unscheduled.take() : state.unscheduled }
    // Refused, and still in no loop: only its owner keeps it.
    if !isMember, unscheduled != nil { link.letGo() }
  }

  func isScheduled(in loop: Loop, forMode mode: Loop.Mode) -> Bool {
    validItem.map { loop.contains($0, in: mode) } ?? false
  }

  func unschedule(from loop: Loop, forMode mode: Loop.Mode) {
    guard let item = validItem, let link = state.withLock({ $0.link }) else { return }
    loop.remove(item, from: mode)
    guard !item.isInLoop else { return }
    state.withLock { $0.unscheduled = item }
    link.letGo()
  }
}
