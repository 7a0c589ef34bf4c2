import Glibc
import Rondo

/// One kind of operation, done `count` times.
///
/// What is counted is the difference of two lengths, so that `perform` may begin and end what it likes. But what it does
/// for each operation, and what its handlers do, counts: it must retain nothing and allocate nothing, or the table says
/// what it does. Handlers capture the one object that they call.
class Operation {
  /// The greatest count: what a process of 1,024 descriptors can have ready at once, and some to spare.
  static let limit = 900

  let loop: Loop
  let tally: Tally

  init(_ loop: Loop) {
    self.loop = loop
    tally = Tally(loop)
  }

  /// Not counted.
  func prepare(_ count: Int) {}

  /// Counted.
  func perform(_ count: Int) {}

  /// Ends the program if not as many handlers were called as were to be.
  func check(_ count: Int) {
    let calls = expectedCalls(count)
    guard tally.calls == calls else {
      print("\(tally.calls) calls instead of \(calls)")
      exit(1)
    }
    tally.calls = 0
  }

  func expectedCalls(_ count: Int) -> Int { count }
}

/// An operation in a mode with a timer, far away: a mode without anything in it is left at once.
class TimedOperation: Operation {
  override init(_ loop: Loop) {
    super.init(loop)
    loop.add(Loop.Timer(after: .seconds(86_400)) { _ in })
  }
}

/// The door through which all is counted: callgrind knows it by its name.
@c(rondo_counted) @inline(never)
public func counted(_ operation: UnsafeMutableRawPointer, _ count: Int) {
  unsafe Unmanaged<Operation>.fromOpaque(operation)._withUnsafeGuaranteedRef { $0.perform(count) }
}

/// What every handler calls, on the one thread there is.
final class Tally: @unchecked Sendable {
  /// Without a check for overlapping accesses, which would be counted.
  @safe @exclusivity(unchecked) var calls = 0
  /// The call at which the loop is to stop.
  @safe @exclusivity(unchecked) var last = 0
  private let loop: Loop

  init(_ loop: Loop) {
    self.loop = loop
  }

  func call() {
    calls += 1
    if calls == last { loop.stop() }
  }
}
