internal import CLinux
internal import Glibc
internal import Synchronization

/// A plain POSIX thread, so that every execution gets a loop nobody used before.
final class FreshThread: Sendable {
  private let thread: pthread_t
  private let signal: Signal

  /// Starts `body` on a new thread.
  init(_ body: @escaping @Sendable () -> Void) {
    let signal = Signal()
    let start = Start {
      body()
    } ended: {
      signal.raise()
    }
    var thread = pthread_t()
    let failure = unsafe pthread_create(
      &thread, nil,
      { raw in
        let start = unsafe Unmanaged<Start>.fromOpaque(raw!).takeRetainedValue()
        start.body()
        start.ended()
        return nil
      }, Unmanaged.passRetained(start).toOpaque())
    precondition(failure == 0, "no thread could be made: error \(failure)")
    self.thread = thread
    self.signal = signal
  }

  /// Waits for the thread's end, destructors of its loop included. False when it is not over in time.
  func join(seconds: Int) -> Bool {
    guard signal.wait(seconds: seconds) else { return false }
    pthread_join(thread, nil)
    return true
  }

  /// Nobody will wait for the thread any more.
  func abandon() { pthread_detach(thread) }

  private final class Start: Sendable {
    let body: @Sendable () -> Void
    let ended: @Sendable () -> Void
    init(body: @escaping @Sendable () -> Void, ended: @escaping @Sendable () -> Void) {
      self.body = body
      self.ended = ended
    }
  }
}

/// A one-shot event: a POSIX semaphore with a deadline.
@safe final class Signal: Sendable {
  private nonisolated(unsafe) let semaphore: UnsafeMutablePointer<sem_t>

  init() {
    unsafe semaphore = .allocate(capacity: 1)
    unsafe sem_init(semaphore, 0, 0)
  }

  deinit {
    unsafe sem_destroy(semaphore)
    unsafe semaphore.deallocate()
  }

  func raise() {
    unsafe sem_post(semaphore)
  }

  @discardableResult func wait(seconds: Int) -> Bool {
    var limit = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &limit)
    limit.tv_sec += seconds
    while unsafe sem_timedwait(semaphore, &limit) != 0 {
      if errno != EINTR { return false }
    }
    return true
  }
}

/// Monotonic milliseconds, and sleeping to one of them.
enum Watch {
  static var milliseconds: Double {
    var now = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &now)
    return Double(now.tv_sec) * 1e3 + Double(now.tv_nsec) / 1e6
  }

  static func sleep(until milliseconds: Double) {
    while true {
      let left = milliseconds - Watch.milliseconds
      guard left > 0 else { return }
      var duration = timespec(tv_sec: Int(left / 1e3), tv_nsec: Int(left.truncatingRemainder(dividingBy: 1e3) * 1e6))
      unsafe nanosleep(&duration, nil)
    }
  }
}

/// A second thread with its own loop that does what it is handed, one thing at a time.
final class SecondThread: Sendable {
  private let arrived: Signal
  private let done: Signal
  private let thread: FreshThread

  init() {
    let arrived = Signal()
    let done = Signal()
    let box = Box()
    self.arrived = arrived
    self.done = done
    thread = FreshThread {
      while true {
        arrived.wait(seconds: 3600)
        guard let body = box.body.withLock({ $0.take() }) else { return }
        body()
        done.raise()
      }
    }
    self.box = box
  }

  private let box: Box

  private final class Box: Sendable {
    let body: Mutex<(@Sendable () -> Void)?> = Mutex(nil)
  }

  /// Runs `body` there and waits for it.
  func run(_ body: @escaping @Sendable () -> Void) {
    box.body.withLock { $0 = body }
    arrived.raise()
    done.wait(seconds: 30)
  }

  func end() {
    arrived.raise()
    _ = thread.join(seconds: 30)
  }
}
