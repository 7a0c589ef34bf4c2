#if RONDO
  import RondoFoundation
#else
  import Foundation
#endif

// MARK: - What it prints

/// What happened, in order. Times are told only as "not early": a busy machine is late.
final class Transcript: @unchecked Sendable {
  private let lock = NSLock()
  private var lines: [String] = []

  func note(_ line: String) {
    lock.lock()
    lines.append(line)
    lock.unlock()
  }

  /// Prints the lines since the last section under a heading.
  func section(_ heading: String) {
    lock.lock()
    print("\(heading): \(lines.joined(separator: ", "))")
    lines = []
    lock.unlock()
  }
}

let transcript = Transcript()
func note(_ line: String) { transcript.note(line) }
func section(_ heading: String) { transcript.section(heading) }

/// Runs `body` on a new thread, which has a run loop with nothing in it, and waits.
func onThread(_ body: @escaping @Sendable () -> Void) {
  let isDone = DispatchSemaphore(value: 0)
  let thread = Thread {
    body()
    isDone.signal()
  }
  thread.start()
  isDone.wait()
}

/// What closures on several threads share, one after the other.
final class Shared<Value>: @unchecked Sendable {
  var value: Value
  init(_ value: Value) { self.value = value }
}

/// A count for closures.
final class Count: @unchecked Sendable {
  var value = 0
  func next() -> Int {
    value += 1
    return value
  }
}

/// Runs the default mode until `condition` holds, however long a busy machine takes.
func run(until condition: () -> Bool) {
  while !condition() { _ = RunLoop.current.run(mode: .default, before: soon(0.01)) }
}

func soon(_ seconds: TimeInterval) -> Date { Date(timeIntervalSinceNow: seconds) }
