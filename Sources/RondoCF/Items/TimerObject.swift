internal import CRondoCFPointers
import Rondo

/// A CFRunLoopTimer.
@safe final class TimerObject: OwnedItemObject, @unchecked Sendable {
  /// *constant*
  let item: Loop.Timer
  /// *constant* Seconds between fires; 0 for a timer that fires once.
  let interval: Double
  /// *constant*
  let order: Int
  private let callout: CFRunLoopTimerCallBack
  private let plan: Guarded<Plan>

  /// A fire date as it was set, and where it lies on the clock the loop waits with.
  private struct Plan {
    /// What was set, which may be past or far away.
    var date: Double
    /// The same moment as the loop understands it.
    var instant: SuspendingClock.Instant
    /// The date of `instant`.
    var base: Double

    init(_ date: Double, _ item: Loop.Timer) {
      // The last date there is, in 2129.
      self.date = date < 4_039_289_856 ? date : 4_039_289_856
      instant = item.fireDate
      base = max(self.date, absoluteTime)
    }
  }

  init(at date: Double, every interval: Double, order: Int, _ callout: CFRunLoopTimerCallBack, _ info: Info) {
    self.interval = interval > 0 ? interval : 0
    self.order = order
    unsafe self.callout = unsafe callout
    let link = Link()
    let item: Loop.Timer
    if interval > 0 {
      item = Loop.Timer(every: max(Duration(rounding: interval), .nanoseconds(1))) { _ in link.timer?.callOut() }
      item.setFireDate(after: delay(until: date))
    } else {
      item = Loop.Timer(after: delay(until: date)) { _ in link.timer?.callOut() }
    }
    unsafe item.label = Label(code: unsafeBitCast(callout, to: UInt.self))
    self.item = item
    plan = Guarded(Plan(date, item))
    super.init(info)
    link.timer = self
  }

  /// What the item goes through, or it would keep the timer.
  private final class Link: @unchecked Sendable {
    /// *constant* once set, before the item is in a loop.
    weak var timer: TimerObject?
  }

  deinit {
    invalidate()
  }

  override class var typeID: UInt { 39 }
  override var member: Loop.Item { item }

  override var text: String {
    let dates = "interval = \(interval), tolerance = \(tolerance), next fire date = \(fireDate)"
    let about = "order = \(order), context = \(info?.text ?? "-")"
    return "\(head("CFRunLoopTimer")){valid = \(isValid ? "Yes" : "No"), \(dates), \(about)}"
  }

  /// The loop's thread. Calls out.
  private func callOut() {
    guard let info else { return }
    unsafe info.bracketing { held in
      unsafe callout(pointer, held)
      // A date that was set in the callout is too late for a timer that fires once.
      if interval == 0 { invalidate() }
    }
  }

  /// 0 once it is invalid.
  var fireDate: Double {
    get {
      guard isValid else { return 0 }
      let plan = plan.withLock { $0 }
      let instant = item.fireDate
      return instant == plan.instant ? plan.date : plan.base + plan.instant.duration(to: instant).seconds
    }
    set {
      guard isValid else { return }
      item.setFireDate(after: delay(until: newValue))
      let new = Plan(newValue, item)
      plan.withLock { $0 = new }
    }
  }

  var tolerance: Double {
    get { isValid ? item.tolerance.seconds : 0 }
    set {
      let tolerance = newValue > 0 ? newValue : 0
      item.tolerance = Duration(rounding: interval > 0 ? min(tolerance, interval / 2) : tolerance)
    }
  }
}
