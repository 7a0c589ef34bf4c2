internal import CRondoCFPointers
import Glibc
import Rondo
import RondoPorts
import RondoSockets

/// The thread that serves ports which are in no loop of their user's: it notices ends of peers, and hands messages to
/// dispatch queues. One in a process, from the first port that needs it.
enum PortThread {
  private static let kept = PerProcess<LoopThread?>(nil)

  /// The thread's loop; nil if the thread cannot start.
  private static var loop: Loop? {
    if let kept = kept.withLock({ $0 }) { return kept.loop }
    do {
      // Outside of the lock: to make a loop calls out.
      let made = try LoopThread(name: "rondo-ports")
      // Signals are for the program's threads.
      made.execute { rondo_cf_block_signals() }
      // Another thread may have been faster: the thread of this one ends then.
      let first = kept.withLock { kept in
        if kept == nil { kept = made }
        return kept!
      }
      return first.loop
    } catch {
      warn("no thread for message ports: \(error)")
      return nil
    }
  }

  static func add(_ port: LocalMessagePort) { _ = loop?.add(port) }
  static func remove(_ port: LocalMessagePort) { loop?.remove(port) }
  static func add(_ port: RemoteMessagePort) { _ = loop?.add(port) }
}

/// A dispatch queue of C's, which is kept.
@safe final class DispatchQueueReference: @unchecked Sendable {
  private let queue: UnsafeMutableRawPointer

  init(_ queue: UnsafeMutableRawPointer) {
    unsafe rondo_cf_retain_queue(queue)
    unsafe self.queue = queue
  }

  deinit {
    unsafe rondo_cf_release_queue(queue)
  }

  /// Has the queue run `work`.
  func perform(_ work: @escaping () -> Void) {
    let box = Work(work)
    let context = unsafe Unmanaged.passRetained(box).toOpaque()
    let isTaken = unsafe rondo_cf_dispatch(queue, context) { context in
      unsafe Unmanaged<Work>.fromOpaque(context!).takeRetainedValue().work()
    }
    if isTaken == 0 { unsafe Unmanaged.passUnretained(box).release() }
  }

  private final class Work {
    let work: () -> Void

    init(_ work: @escaping () -> Void) { self.work = work }
  }
}
