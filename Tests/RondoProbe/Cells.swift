import Synchronization

/// A variable that callouts on the loop's thread share with the function that runs the loop.
final class Cell<Value>: @unchecked Sendable {
  var value: Value
  init(_ value: Value) { self.value = value }
}

/// A count that several threads keep.
final class Tally: Sendable {
  private let count = Atomic<Int>(0)

  /// - Returns: The new count.
  @discardableResult
  func add() -> Int { count.add(1, ordering: .relaxed).newValue }
  var value: Int { count.load(ordering: .relaxed) }
}

/// Something one thread tells another, once.
final class Flag: Sendable {
  private let isUp = Atomic<Bool>(false)

  func raise() { isUp.store(true, ordering: .sequentiallyConsistent) }
  /// Waits without a system call.
  func wait() { spin { isUp.load(ordering: .sequentiallyConsistent) } }
}

/// Looks again and again, without a system call, until `condition` holds.
func spin(until condition: () -> Bool) {
  while !condition() {}
}

/// A value that one thread sets and others await.
final class Shared<Value: Sendable>: Sendable {
  private let value = Mutex<Value?>(nil)
  private let flag = Flag()

  func set(_ new: Value) {
    value.withLock { $0 = new }
    flag.raise()
  }

  func wait() -> Value {
    flag.wait()
    return value.withLock { $0! }
  }
}
