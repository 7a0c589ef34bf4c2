public import Foundation
import Rondo

/// Posts notifications from the run loop, as Apple documents it. See NSNotificationQueue.
///
/// The queue posts `.asap` notifications before `.whenIdle` ones, each kind in order. It posts a notification only
/// while the loop runs in one of the notification's modes. Use a queue on the thread that made it.
open class NotificationQueue: NSObject {
  /// Foundation's own type.
  public typealias PostingStyle = Foundation.NotificationQueue.PostingStyle
  /// Foundation's own type.
  public typealias NotificationCoalescing = Foundation.NotificationQueue.NotificationCoalescing

  /// *constant*
  private let center: NotificationCenter
  /// *constant* Weak: the run loop keeps the thread's default queue.
  private weak let runLoop: RunLoop?
  private var asap: [Entry] = []
  private var idle: [Entry] = []
  /// Chosen to be posted; several rounds of them if an observer of the notification center runs the loop.
  private var chosen: [Entry] = []
  /// Told at the moments of a turn at which something may be posted, while there is something.
  private var observer: Loop.Observer?
  /// The modes the observer is in.
  private var observed: Set<RunLoop.Mode> = []

  private final class Entry {
    let notification: Notification
    let modes: [RunLoop.Mode]
    /// Taken out, after it was chosen to be posted and before it was.
    var isDequeued = false

    init(_ notification: Notification, _ modes: [RunLoop.Mode]) {
      self.notification = notification
      self.modes = modes
    }
  }

  /// The calling thread's queue for the default notification center.
  @available(*, noasync, message: "An async function has no run loop. Post to the notification center.")
  open class var `default`: NotificationQueue {
    let runLoop = RunLoop.current
    if let queue = runLoop.defaultQueue { return queue }
    let queue = NotificationQueue(notificationCenter: .default)
    runLoop.defaultQueue = queue
    return queue
  }

  /// Makes a queue of the calling thread that posts to `notificationCenter`. Keep the queue.
  public init(notificationCenter: NotificationCenter) {
    center = notificationCenter
    runLoop = RunLoop.of(Loop.current)
    super.init()
  }

  deinit {
    observer?.invalidate()
  }

  // MARK: - Queueing

  /// Enqueues a notification for the default mode, coalesced by name and sender.
  open func enqueue(_ notification: Notification, postingStyle: PostingStyle) {
    enqueue(notification, postingStyle: postingStyle, coalesceMask: [.onName, .onSender], forModes: nil)
  }

  /// Enqueues a notification, after it removed similar ones as `coalesceMask` says.
  ///
  /// The queue posts it before the call returns (`.now`), at the end of the turn (`.asap`), or before the loop sleeps
  /// (`.whenIdle`). If the loop runs in another mode than one of `modes`, `.now` posts nothing.
  ///
  /// - Parameter modes: The modes in which it may be posted; nil for the default mode. Name each mode: `.common`
  ///   matches no mode. With `.common` alone, only `.now` posts it, and only while the loop does not run.
  open func enqueue(
    _ notification: Notification, postingStyle: PostingStyle, coalesceMask: NotificationCoalescing,
    forModes modes: [RunLoop.Mode]?
  ) {
    dequeueNotifications(matching: notification, coalesceMask: coalesceMask)
    let entry = Entry(notification, modes ?? [.default])
    switch postingStyle {
    case .now:
      if runLoop?.currentMode.map({ matches(entry, $0) }) ?? true { center.post(notification) }
    case .asap: wait(entry, in: \.asap)
    case .whenIdle: wait(entry, in: \.idle)
    }
  }

  /// What has no mode that can run is never posted, and not kept for it.
  private func wait(_ entry: Entry, in list: ReferenceWritableKeyPath<NotificationQueue, [Entry]>) {
    let modes = entry.modes.filter { $0 != .common }
    if modes.isEmpty { return }
    self[keyPath: list].append(entry)
    observe(modes)
  }

  /// Removes every notification with the name, the sender, or both, of `notification`.
  ///
  /// - Parameter coalesceMask: The properties to compare. An empty mask removes nothing.
  open func dequeueNotifications(matching notification: Notification, coalesceMask: NotificationCoalescing) {
    guard !coalesceMask.isDisjoint(with: [.onName, .onSender]) else { return }
    let isAlike = { (entry: Entry) in
      (!coalesceMask.contains(.onName) || entry.notification.name == notification.name)
        && (!coalesceMask.contains(.onSender) || Self.isSame(entry.notification.object, notification.object))
    }
    asap.removeAll(where: isAlike)
    idle.removeAll(where: isAlike)
    for entry in chosen where isAlike(entry) { entry.isDequeued = true }
  }

  /// Whether two senders are one: the same object, or equal values.
  private static func isSame(_ left: Any?, _ right: Any?) -> Bool {
    guard let left, let right else { return left == nil && right == nil }
    if type(of: left) is AnyClass, type(of: right) is AnyClass { return (left as AnyObject) === (right as AnyObject) }
    guard let left = left as? AnyHashable, let right = right as? AnyHashable else { return false }
    return left == right
  }

  // MARK: - Posting

  /// The end of a turn is the beginning of the next one, the moment before sleeping, or the end of the run.
  private static let moments: Loop.Activity = [.beforeTimers, .beforeWaiting, .exit]

  private func observe(_ modes: [RunLoop.Mode]) {
    guard let loop = runLoop?.getLoop() else { return }
    let observer = observer ?? makeObserver()
    for mode in modes where observed.insert(mode).inserted {
      loop.add(observer, to: Loop.Mode(mode))
      // If it is too late to be told in this turn, the loop shall not sleep on it.
      loop.wakeUp()
    }
  }

  private func makeObserver() -> Loop.Observer {
    nonisolated(unsafe) weak let queue = self
    let made = Loop.Observer(Self.moments, order: .max) { activity in unsafe queue?.post(at: activity) }
    observer = made
    return made
  }

  /// Posts what may be posted now. Calls out.
  private func post(at activity: Loop.Activity) {
    guard let runLoop, let mode = runLoop.currentMode else { return }
    post(\.asap, mode)
    // Idle is a loop about to sleep that no timer keeps awake, and that has nothing better to post.
    if activity == .beforeWaiting, !asap.contains(where: { matches($0, mode) }), isIdle(runLoop.getLoop(), mode) {
      post(\.idle, mode)
    }
    if asap.isEmpty, idle.isEmpty {
      observer?.invalidate()
      observer = nil
      observed = []
    } else if activity == .beforeWaiting, (asap + idle).contains(where: { matches($0, mode) }) {
      // What was enqueued since, or waits for the loop to be idle, has the next turn.
      runLoop.wakeUp()
    }
  }

  /// Posts those entries that are there when it begins and match the mode, first in, first out. Calls out.
  private func post(_ list: ReferenceWritableKeyPath<NotificationQueue, [Entry]>, _ mode: RunLoop.Mode) {
    let due = self[keyPath: list].filter { matches($0, mode) }
    guard !due.isEmpty else { return }
    self[keyPath: list].removeAll { matches($0, mode) }
    chosen += due
    for entry in due where !entry.isDequeued { center.post(entry.notification) }
    chosen.removeLast(due.count)
  }

  private func matches(_ entry: Entry, _ mode: RunLoop.Mode) -> Bool {
    // As in Foundation, `.common` is a name that no running mode has.
    entry.modes.contains(mode)
  }

  private func isIdle(_ loop: Loop, _ mode: RunLoop.Mode) -> Bool {
    guard let next = loop.nextFireDate(in: Loop.Mode(mode)) else { return true }
    return next > loop.clock.now
  }
}
