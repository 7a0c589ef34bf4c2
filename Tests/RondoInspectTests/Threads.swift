import CLinux
import CTests
import Glibc
import Synchronization

@testable import RondoInspect

final class Flag: Sendable {
  private let word = Atomic<Bool>(false)

  var isRaised: Bool { word.load(ordering: .acquiring) }

  func raise() { word.store(true, ordering: .releasing) }
}

/// A thread that computes until it is ended.
@safe final class Spinner: @unchecked Sendable {
  private let word = UnsafeMutablePointer<UInt32>.allocate(capacity: 1)
  private let number = Atomic<Int32>(0)
  private let isDone = Atomic<Bool>(false)

  init() { unsafe word.initialize(to: 0) }

  deinit { unsafe word.deallocate() }

  /// The kernel's number of the thread; 0 before it spins.
  var thread: Int32 { number.load(ordering: .acquiring) }

  func begin(_ name: String, blocking: Bool) {
    Thread.begin(name) { [self] in
      var signals = sigset_t()
      unsafe sigfillset(&signals)
      unsafe pthread_sigmask(blocking ? SIG_BLOCK : SIG_UNBLOCK, &signals, nil)
      spin()
    }.detach()
    while thread == 0 { usleep(1_000) }
  }

  func spin() {
    number.store(ThreadState.ownNumber, ordering: .releasing)
    unsafe stuck_compute(word)
    isDone.store(true, ordering: .releasing)
  }

  /// Returns when the thread has left the memory.
  func end() {
    unsafe stuck_end(word)
    while !isDone.load(ordering: .acquiring) { usleep(1_000) }
  }
}

/// A thread of the C library's.
@safe struct Thread: @unchecked Sendable {
  private let thread: pthread_t

  private final class Start: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(_ name: String, _ body: @escaping @Sendable () -> Void) {
      self.name = name
      self.body = body
    }
  }

  @discardableResult
  static func begin(_ name: String, _ body: @escaping @Sendable () -> Void) -> Thread {
    let start = Start(name, body)
    var thread = pthread_t()
    let error = unsafe pthread_create(
      &thread, nil,
      { opaque in
        let start = unsafe Unmanaged<Start>.fromOpaque(opaque!).takeRetainedValue()
        unsafe start.name.withCString { unsafe rondo_name_thread($0) }
        start.body()
        return nil
      }, Unmanaged.passRetained(start).toOpaque())
    precondition(error == 0)
    return Thread(thread: thread)
  }

  func join() { pthread_join(thread, nil) }

  func detach() { pthread_detach(thread) }
}
