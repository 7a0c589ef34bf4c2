import CLinux
import Glibc

/// The main dispatch queue, where `DispatchQueue.main` and `@MainActor` code wait for the main thread.
///
/// libdispatch exports two functions for a run loop that owns the main thread; Foundation uses the same two. They
/// are the running program's, also where this library was linked with a libdispatch of its own inside.
enum MainQueue {
  /// *constant* An eventfd that becomes readable when the queue has work; -1 in a program without libdispatch.
  static let descriptor: CInt = rondo_main_queue_handle()

  /// Makes the descriptor, once one is known to be free: without one, libdispatch would trap. In a forked child, makes
  /// one that the parent does not share. Returns 0, or errno if none is free. Called when the main loop is made.
  static func prepare(isForked: Bool) -> CInt {
    let probe = rondo_eventfd()
    guard probe >= 0 else { return errno }
    close(probe)
    guard descriptor >= 0 else { return 0 }
    if rondo_may_be_eventfd(descriptor) == 0 {
      ClosedBehindTheLoop.fail("the eventfd of the main dispatch queue", descriptor, EBADF)
    }
    return isForked ? rondo_renew_eventfd(descriptor) : 0
  }

  /// Whether the queue has work now: one poll(2).
  static var isReady: Bool {
    descriptor >= 0 && rondo_is_readable(descriptor) != 0
  }

  /// Runs what was queued when it began. On the main thread. Calls out.
  ///
  /// The descriptor is read first: draining does not reset it, and a level-triggered wait would spin.
  static func drain() {
    rondo_eventfd_drain(descriptor)
    rondo_main_queue_drain()
  }
}
