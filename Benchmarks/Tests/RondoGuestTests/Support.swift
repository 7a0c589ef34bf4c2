import CGuests
import CoreFoundation
import Foundation
import Glibc
import Rondo
import RondoFoundation
import Synchronization

/// A new thread's loop and what happened on it, for callbacks to share. Everything belongs to that thread.
final class Stage: @unchecked Sendable {
  let loop = loopOfThread()
  private(set) var notes: [String] = []
  private var callbacks: [Callback] = []
  private var descriptors: [CInt] = []

  var text: String { notes.joined(separator: " ") }

  func note(_ text: String) { notes.append(text) }

  /// What C is given to call `body` with, which says whether to go on. It lives as long as the stage.
  func callback(_ body: @escaping () -> Bool) -> UnsafeMutableRawPointer {
    let callback = Callback(body)
    callbacks.append(callback)
    return Unmanaged.passUnretained(callback).toOpaque()
  }

  /// Lets go of the callbacks, which may have captured the stage.
  func finish() { callbacks = [] }

  /// Runs the default mode until it is stopped, a minute at most. Whether it was stopped.
  func run() -> Bool { loop.run(for: .seconds(60)) == .stopped }

  /// A pipe that does not block, closed with the stage.
  func pipe() -> (reader: CInt, writer: CInt) {
    var ends: [CInt] = [0, 0]
    precondition(Glibc.pipe(&ends) == 0)
    for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
    descriptors += ends
    return (ends[0], ends[1])
  }

  /// Whoever closes a descriptor of the stage's says so.
  func hasClosed(_ descriptor: CInt) { descriptors.removeAll { $0 == descriptor } }

  deinit {
    for descriptor in descriptors { close(descriptor) }
  }
}

/// The thread's loop. With RONDO_BRIDGE in the environment it serves one of Foundation's beside it, and sleeps in that
/// one's wait.
private func loopOfThread() -> Loop {
  if getenv("RONDO_BRIDGE") != nil {
    _ = CFRunLoopGetCurrent()
    let status = RondoFoundation.RunLoop.current.foundationStatus
    precondition(status == .serving, "The loop is to serve Foundation's: \(status)")
  }
  return .current
}

/// Runs `body` with the loop of a new thread, and waits for it.
func onLoopThread(_ body: @escaping @Sendable (Stage) -> Void) {
  let thread = TestThread {
    let stage = Stage()
    body(stage)
    stage.finish()
  }
  thread.join()
}

/// A thread that runs `body` once.
final class TestThread: Sendable {
  private let isOver = DispatchSemaphore(value: 0)

  init(_ body: @escaping @Sendable () -> Void) {
    let isOver = isOver
    Thread {
      body()
      isOver.signal()
    }.start()
  }

  func join() { isOver.wait() }
}

/// What C calls.
final class Callback {
  let body: () -> Bool
  init(_ body: @escaping () -> Bool) { self.body = body }
}

let callAgain: guest_again = { Unmanaged<Callback>.fromOpaque($0!).takeUnretainedValue().body() ? 1 : 0 }

let call: guest_call = { _ = Unmanaged<Callback>.fromOpaque($0!).takeUnretainedValue().body() }

func drain(_ descriptor: CInt) -> Int {
  var bytes = [UInt8](repeating: 0, count: 4096)
  var count = 0
  while case let read = read(descriptor, &bytes, bytes.count), read > 0 { count += read }
  return count
}

func writeByte(_ descriptor: CInt) {
  precondition(write(descriptor, [0], 1) == 1)
}
