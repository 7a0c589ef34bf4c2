import Rondo
import RondoFoundation
import Synchronization

/// What happened, by any thread; printed in the order of the alphabet.
final class Report: @unchecked Sendable {
  private let lock = NSLock()
  private var lines: [String] = []

  func add(_ line: String) {
    lock.lock()
    lines.append(line)
    lock.unlock()
  }

  var count: Int {
    lock.lock()
    defer { lock.unlock() }
    return lines.count
  }

  func printSorted() { for line in lines.sorted() { print(line) } }
}

/// A value that only one thread touches at a time.
final class Cell<Value>: @unchecked Sendable {
  var value: Value
  init(_ value: Value) { self.value = value }
}

func onThread(_ body: @escaping () -> Void) {
  let isDone = DispatchSemaphore(value: 0)
  let body = Cell(body)
  let thread = Thread {
    body.value()
    isDone.signal()
  }
  thread.start()
  isDone.wait()
}

func after(_ seconds: TimeInterval, _ body: @escaping @Sendable () -> Void) {
  DispatchQueue.global().asyncAfter(deadline: .now() + seconds, execute: body)
}

/// Calls the body on another thread once the loop sleeps: a stop that comes before the run is nobody's.
func whenAsleep(_ loop: Loop, _ body: @escaping @Sendable () -> Void) {
  Thread {
    while !loop.isWaiting { usleep(1_000) }
    body()
  }.start()
}

func openDescriptors() -> Int { (0..<1_024).count { fcntl($0, F_GETFD) != -1 } }

/// fork(2), which Swift hides.
@_silgen_name("fork") func forkProcess() -> pid_t

/// Leaves a mark in a trace of system calls: a write that fails.
func mark(_ name: String) { _ = name.withCString { write(-1, $0, strlen($0)) } }
