internal import CRondoCFPointers
import Rondo

/// A CFRunLoopObserver.
@safe final class ObserverObject: OwnedItemObject, @unchecked Sendable {
  /// *constant*
  let item: Loop.Observer
  /// *constant*
  let activities: UInt
  /// *constant*
  let repeats: Bool
  /// *constant*
  let order: Int
  private let callout: CFRunLoopObserverCallBack

  init(_ activities: UInt, repeats: Bool, order: Int, _ callout: CFRunLoopObserverCallBack, _ info: Info) {
    self.activities = activities
    self.repeats = repeats
    self.order = order
    unsafe self.callout = unsafe callout
    let link = Link()
    item = Loop.Observer(Loop.Activity(rawValue: UInt32(truncatingIfNeeded: activities)), order: order) { activity in
      link.observer?.callOut(activity)
    }
    unsafe item.label = Label(code: unsafeBitCast(callout, to: UInt.self))
    super.init(info)
    link.observer = self
  }

  /// What the item goes through, or it would keep the observer.
  private final class Link: @unchecked Sendable {
    /// *constant* once set, before the item is in a loop.
    weak var observer: ObserverObject?
  }

  deinit {
    invalidate()
  }

  override class var typeID: UInt { 38 }
  override var member: Loop.Item { item }

  override var text: String {
    let told = "activities = 0x\(String(activities, radix: 16)), repeats = \(repeats ? "Yes" : "No")"
    let about = "order = \(order), context = \(info?.text ?? "-")"
    return "\(head("CFRunLoopObserver")){valid = \(isValid ? "Yes" : "No"), \(told), \(about)}"
  }

  /// The loop's thread. Calls out.
  private func callOut(_ activity: Loop.Activity) {
    guard let info else { return }
    unsafe callout(pointer, CFRunLoopActivity(rawValue: UInt(activity.rawValue)), info.pointer)
    if !repeats { invalidate() }
  }
}
