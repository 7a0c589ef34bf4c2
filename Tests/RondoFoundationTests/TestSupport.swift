import Rondo
import RondoFoundation
import RondoTesting
import Synchronization

/// A virtual loop with the run loop that stands on it, and what happened.
final class FoundationStage: @unchecked Sendable {
  let virtual: VirtualLoop
  let runLoop: RunLoop
  let trace = Trace()

  init(_ virtual: VirtualLoop) {
    self.virtual = virtual
    runLoop = RunLoop.of(virtual.loop)
  }

  var loop: Loop { virtual.loop }

  func note(_ token: String) { trace.note(token) }

  /// Notes `name` and the virtual millisecond, rounded.
  func noteTime(_ name: String) {
    let (seconds, attoseconds) = virtual.elapsed.components
    let milliseconds = (Double(seconds) * 1e3 + Double(attoseconds) / 1e15).rounded()
    note("\(name)@\(Int(milliseconds))")
  }

  var text: String { trace.text }
}

/// Runs `body` with a loop in virtual time that stands in for the thread's own.
@available(*, noasync)
func withFoundationStage(_ body: (FoundationStage) throws -> Void) rethrows {
  try withVirtualLoop { virtual in try body(FoundationStage(virtual)) }
}

/// A count that any thread may add to and read.
final class Tally: Sendable {
  private let value = Atomic<Int>(0)

  func add(_ amount: Int = 1) { value.add(amount, ordering: .sequentiallyConsistent) }

  var count: Int { value.load(ordering: .sequentiallyConsistent) }
}

/// Something that threads hand each other, one after the other.
final class Notes: Sendable {
  // The sanitizer does not see how the standard library's lock is handed over.
  private let notes = Guarded<[String]>([])

  func note(_ text: String) { notes.withLock { $0.append(text) } }

  func clear() { notes.withLock { $0 = [] } }

  var count: Int { notes.withLock { $0.count } }

  var text: String { notes.withLock { $0.joined(separator: " ") } }
}

/// Counts its living instances, and says what died.
final class Witness: Sendable {
  private let deaths: Tally
  init(_ deaths: Tally) { self.deaths = deaths }
  deinit { deaths.add() }
}
