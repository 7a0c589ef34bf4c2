import CLibevent
import Glibc

/// The kernel's side of one mode: an event_base with the loop's own descriptors and the mode's. *loop thread*
///
/// An event_base costs three descriptors, so it is made when its mode is first waited in.
@safe final class WaitSet {
  let base: OpaquePointer
  let collection: UnsafeMutablePointer<rondo_collection>
  private let wakeupWatch: UnsafeMutablePointer<rondo_watch>
  private let timerWatch: UnsafeMutablePointer<rondo_watch>
  private let mainQueueWatch: UnsafeMutablePointer<rondo_watch>
  @safe @exclusivity(unchecked) private var watchesMainQueue = false
  /// How many watches each descriptor number has in this set.
  @safe @exclusivity(unchecked) private var watchCounts: ContiguousArray<UInt16> = []
  /// A watched descriptor was closed before it was unwatched: the kernel may report it for ever.
  @safe @exclusivity(unchecked) var mayHaveOrphans = false
  /// A source that waits for its peer's close alone shares its descriptor, and relies on the others to hear of errors.
  @safe @exclusivity(unchecked) var hasSharedCloseWatches = false
  /// One of those others has gone.
  @safe @exclusivity(unchecked) var mayHaveLoneCloseWatches = false

  /// Bits of `rondo_collection.edges`.
  enum Edge {
    static let wakeup: UInt64 = 1
    static let timer: UInt64 = 2
    static let mainQueue: UInt64 = 4
  }

  init(wakeup: CInt, timer: CInt) {
    guard let base = unsafe rondo_base_new() else {
      preconditionFailure("libevent could not make an event_base: out of descriptors (errno \(errno)).")
    }
    unsafe self.base = base
    unsafe collection = rondo_collection_new()
    unsafe wakeupWatch = rondo_watch_new(collection, Edge.wakeup)
    unsafe timerWatch = rondo_watch_new(collection, Edge.timer)
    unsafe mainQueueWatch = rondo_watch_new(collection, Edge.mainQueue)
    let edge = CShort(EV_READ | EV_ET)
    let wakeupError = unsafe rondo_watch_set(wakeupWatch, base, wakeup, edge, 1)
    let timerError = unsafe rondo_watch_set(timerWatch, base, timer, edge, 1)
    precondition(wakeupError == 0 && timerError == 0, "epoll refused the loop's own descriptors.")
  }

  deinit {
    unsafe rondo_watch_free(wakeupWatch)
    unsafe rondo_watch_free(timerWatch)
    unsafe rondo_watch_free(mainQueueWatch)
    unsafe event_base_free(base)
    unsafe rondo_collection_free(collection)
  }

  /// Watches the main dispatch queue only in runs that serve it: one that does not would never sleep.
  @inline(__always)
  func watchMainQueue(_ wanted: Bool) {
    guard wanted != watchesMainQueue, MainQueue.descriptor >= 0 else { return }
    watchesMainQueue = wanted
    _ = unsafe rondo_watch_set(mainQueueWatch, base, MainQueue.descriptor, wanted ? CShort(EV_READ) : 0, 1)
  }

  /// How many sources watch this descriptor number here.
  func watchCount(of descriptor: CInt) -> Int {
    Int(descriptor) < watchCounts.count ? Int(watchCounts[Int(descriptor)]) : 0
  }

  func countWatch(of descriptor: CInt, _ change: Int) {
    let index = Int(descriptor)
    if index >= watchCounts.count {
      watchCounts.append(contentsOf: repeatElement(0, count: index + 1 - watchCounts.count))
    }
    watchCounts[index] = UInt16(Int(watchCounts[index]) + change)
  }

  /// The one place where a loop sleeps.
  @inline(never)
  static func sleepInKernel(_ base: OpaquePointer, _ collection: UnsafeMutablePointer<rondo_collection>) {
    unsafe rondo_wait(base, collection, 1)
    CalloutBarrier.keepFrame()
  }

  @inline(never)
  static func look(_ base: OpaquePointer, _ collection: UnsafeMutablePointer<rondo_collection>) {
    unsafe rondo_wait(base, collection, 0)
    CalloutBarrier.keepFrame()
  }
}
