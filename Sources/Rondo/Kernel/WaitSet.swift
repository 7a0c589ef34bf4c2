import CLinux
import Glibc

/// The kernel's side of one mode: the loop's own descriptors and the mode's, in an event base. *loop thread*
///
/// It can do without its base for a while, when descriptors are short and another mode needs one: it then remembers what
/// is watched, and asks the kernel for it when it gets a base again. What it watches is in `WaitSet+Watches.swift`.
@safe final class WaitSet {
  let collection = EventCollection()
  /// What the loop wakes up by: its eventfd and its timerfd.
  private let own: KernelDescriptors
  @safe @exclusivity(unchecked) private(set) var base: EventBase?
  @safe @exclusivity(unchecked) private var watchesMainQueue = false
  /// A watched descriptor was closed before it was unwatched: the kernel may report it again and again.
  @safe @exclusivity(unchecked) var mayHaveStaleRegistrations = false
  /// What is watched, by descriptor number.
  @safe @exclusivity(unchecked) var numbers: ContiguousArray<WatchedNumber?> = []

  init(own: KernelDescriptors) {
    self.own = own
  }

  deinit {
    _ = release()
    for number in numbers { number?.free() }
    collection.free()
  }

  /// Has the set, which has no base, wait by `made` from now on, for all that it watches.
  ///
  /// - Parameter others: The epoll sets of the loop's other modes.
  /// - Returns: The sources whose descriptors stand for another file by now, or that the kernel refuses.
  /// - Throws: If the kernel refuses to watch the loop's own descriptors.
  func open(_ made: EventBase, besides others: [CInt]) throws(WaitFailure) -> [RejectedSource] {
    base = made
    collection.use(made)
    try start(.wakeup, own.wakeup, "the eventfd that wakes it")
    made.findEpoll(watching: own.wakeup, besides: others)
    // The eventfd is readable from the beginning: its first edge would end the first sleep for nothing.
    _ = collection.poll()
    try start(.timer, own.timer, "the timerfd that wakes it in time")
    mayHaveStaleRegistrations = false
    return watchAgain()
  }

  private func start(_ own: EventCollection.Own, _ descriptor: CInt, _ what: String) throws(WaitFailure) {
    let error = collection.start(own, descriptor)
    if error == 0 { return }
    // The kernel says of neither number which one is wrong.
    if let epoll = base?.epoll, epoll >= 0, !rondo_is_epoll(epoll) {
      throw WaitFailure("its epoll set", epoll, EBADF, in: "epoll_ctl(2)")
    }
    throw WaitFailure(what, descriptor, error, in: "epoll_ctl(2)")
  }

  /// Gives the base up, with nothing in it. No poster may be about to wake the loop by it.
  func release() -> EventBase? {
    guard let base else { return nil }
    for number in numbers { number?.stop() }
    for own in [EventCollection.Own.wakeup, .timer, .mainQueue] { collection.stop(own) }
    collection.use(nil)
    watchesMainQueue = false
    self.base = nil
    return base
  }

  /// Watches the main dispatch queue only in runs that serve it: one that does not would never sleep.
  @inline(__always)
  func watchMainQueue(_ wanted: Bool) {
    guard wanted != watchesMainQueue, base != nil, MainQueue.descriptor >= 0 else { return }
    watchesMainQueue = wanted
    if wanted {
      do {
        try start(.mainQueue, MainQueue.descriptor, "the eventfd of the main dispatch queue")
      } catch {
        error.end()
      }
    } else {
      collection.stop(.mainQueue)
    }
  }
}
