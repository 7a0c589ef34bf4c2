import CLibevent
import Glibc

/// The kernel's side of one mode: the loop's own descriptors and the mode's, in an event base. *loop thread*
///
/// It can do without its base for a while, when descriptors are short and another mode needs one: it then remembers what
/// is watched, and asks the kernel for it when it gets a base again. What it watches is in `WaitSet+Watches.swift`.
@safe final class WaitSet {
  let collection: UnsafeMutablePointer<rondo_collection>
  private let wakeupWatch: UnsafeMutablePointer<rondo_own>
  private let timerWatch: UnsafeMutablePointer<rondo_own>
  private let mainQueueWatch: UnsafeMutablePointer<rondo_own>
  /// What the loop wakes up by: its eventfd and its timerfd.
  private let own: KernelDescriptors
  @safe @exclusivity(unchecked) private(set) var base: EventBase?
  @safe @exclusivity(unchecked) private var watchesMainQueue = false
  /// What is watched, by descriptor number.
  @safe @exclusivity(unchecked) var numbers: ContiguousArray<UnsafeMutablePointer<rondo_number>?> = unsafe []
  /// A watched descriptor was closed before it was unwatched: the kernel may report it for ever.
  @safe @exclusivity(unchecked) var mayHaveOrphans = false

  /// Bits of `rondo_collection.edges`.
  enum Edge {
    static let wakeup: UInt32 = 1
    static let timer: UInt32 = 2
    static let mainQueue: UInt32 = 4
  }

  init(own: KernelDescriptors) {
    self.own = own
    unsafe collection = rondo_collection_new()
    unsafe wakeupWatch = rondo_own_new(collection, Edge.wakeup)
    unsafe timerWatch = rondo_own_new(collection, Edge.timer)
    unsafe mainQueueWatch = rondo_own_new(collection, Edge.mainQueue)
  }

  deinit {
    for descriptor in unsafe numbers.indices {
      if let number = unsafe numbers[descriptor] { unsafe discard(number) }
    }
    _ = release()
    unsafe free(wakeupWatch)
    unsafe free(timerWatch)
    unsafe free(mainQueueWatch)
    unsafe rondo_collection_free(collection)
  }

  /// Has the set, which has no base, wait by `made` from now on, for all that it watches.
  ///
  /// - Parameter others: The epoll sets of the loop's other modes.
  /// - Returns: The sources whose descriptors stand for another file by now, or that the kernel refuses.
  func open(_ made: EventBase, besides others: [CInt]) -> [FallenSource] {
    unsafe collection.pointee.batch = UInt32(rondo_least_batch)
    unsafe startOwn(wakeupWatch, made, own.wakeup, "the eventfd that wakes it")
    made.findEpoll(watching: own.wakeup, besides: others)
    // What is readable from the beginning is told at once, and would end the first sleep for nothing.
    _ = unsafe rondo_wait(made.pointer, collection, 0)
    unsafe startOwn(timerWatch, made, own.timer, "the timerfd that wakes it in time")
    base = made
    mayHaveOrphans = false
    return watchAgain()
  }

  private func startOwn(_ watch: UnsafeMutablePointer<rondo_own>, _ base: EventBase, _ descriptor: CInt, _ what: String)
  {
    let error = unsafe rondo_own_start(watch, base.pointer, descriptor)
    if error == ENOMEM || error == ENOSPC {
      fatalError("A loop cannot wait: the kernel has no room for one more watched descriptor (errno \(error)).")
    }
    if error != 0 { ClosedBehindTheLoop.fail(what, descriptor, error) }
  }

  /// Gives the base up, with nothing in it. Nobody may be about to wake the loop by it.
  func release() -> EventBase? {
    guard let base else { return nil }
    stopWatching()
    unsafe rondo_own_stop(wakeupWatch)
    unsafe rondo_own_stop(timerWatch)
    unsafe rondo_own_stop(mainQueueWatch)
    watchesMainQueue = false
    self.base = nil
    return base
  }

  /// Watches the main dispatch queue only in runs that serve it: one that does not would never sleep.
  @inline(__always)
  func watchMainQueue(_ wanted: Bool) {
    guard wanted != watchesMainQueue, let base, MainQueue.descriptor >= 0 else { return }
    watchesMainQueue = wanted
    if wanted {
      unsafe startOwn(mainQueueWatch, base, MainQueue.descriptor, "the eventfd of the main dispatch queue")
    } else {
      unsafe rondo_own_stop(mainQueueWatch)
    }
  }

  /// The one place where a loop sleeps. 0, or errno.
  @inline(never)
  static func sleepInKernel(_ base: OpaquePointer, _ collection: UnsafeMutablePointer<rondo_collection>) -> CInt {
    let error = unsafe rondo_wait(base, collection, 1)
    CalloutBarrier.keepFrame()
    return error
  }

  @inline(never)
  static func look(_ base: OpaquePointer, _ collection: UnsafeMutablePointer<rondo_collection>) -> CInt {
    let error = unsafe rondo_wait(base, collection, 0)
    CalloutBarrier.keepFrame()
    return error
  }
}
