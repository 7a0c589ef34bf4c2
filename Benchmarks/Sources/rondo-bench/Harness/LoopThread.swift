import CBench
import Synchronization

/// A thread with a subject's loop on it, for work that happens on that thread alone.
enum LoopThread {
  /// Opens a loop on a fresh pinned thread, hands it to `body`, and closes it.
  static func run<Output: Sendable>(
    _ subject: any Subject, posts: Bool = false, within seconds: Double = 30,
    _ body: @escaping @Sendable (LoopHandle) throws(Refusal) -> Output
  ) throws(Refusal) -> Output {
    let output = Box<Output?>(nil)
    let thread = PinnedThread(on: Processors().loop) { () throws(Refusal) in
      let handle = LoopHandle(try subject.openLoop(posts: posts))
      defer { handle.loop.close() }
      let value = try body(handle)
      output.value = value
    }
    try thread.join(within: seconds)
    guard let value = output.value else { throw .failed("the loop did nothing") }
    return value
  }
}

/// Carries a value between threads.
final class Box<Value: Sendable>: Sendable {
  private let content: Mutex<Value>

  init(_ value: Value) {
    content = Mutex(value)
  }

  var value: Value {
    get { content.withLock { $0 } }
    set { content.withLock { $0 = newValue } }
  }
}

/// A C meter on the heap: callouts hold its address.
///
/// Sendable because one thread at a time touches it, unless its fields are atomic.
final class Meter<Value>: @unchecked Sendable {
  let pointer: UnsafeMutablePointer<Value>

  init(_ value: Value) {
    pointer = .allocate(capacity: 1)
    pointer.initialize(to: value)
  }

  deinit {
    pointer.deinitialize(count: 1)
    pointer.deallocate()
  }

  var value: Value { pointer.pointee }
}

extension Meter<bench_counter> {
  /// Stops the loop at the call of this number; 0 for never.
  convenience init(target: Int, stopping handle: LoopHandle) {
    self.init(bench_counter(calls: 0, target: target, stopper: handle.stopper))
  }

  /// Makes an object: once for all items that call it.
  var call: Call { Call(callout: bench_counter_called, context: pointer) }

  /// Begins again.
  func reset(target: Int) {
    pointer.pointee.calls = 0
    pointer.pointee.target = target
  }

  /// Throws if there were more or fewer callouts than there was cause for.
  func check(_ expected: Int) throws(Refusal) {
    guard value.calls == expected else { throw .failed("\(value.calls) callouts for \(expected) causes") }
  }
}
