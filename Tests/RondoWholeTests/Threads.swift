import Glibc
import Rondo
import Synchronization

/// A thread of the test's own.
struct TestThread {
  private let handle: pthread_t

  init(_ body: @escaping @Sendable () -> Void) {
    let box = unsafe Unmanaged.passRetained(Body(body)).toOpaque()
    var handle = pthread_t()
    let error = unsafe pthread_create(
      &handle, nil,
      { argument in
        unsafe Unmanaged<Body>.fromOpaque(argument!).takeRetainedValue().run()
        return nil
      }, box)
    precondition(error == 0, "pthread_create failed: \(error)")
    self.handle = handle
  }

  func join() {
    _ = pthread_join(handle, nil)
  }

  /// Runs `body` on `count` threads at once, with each one's number, and waits for them.
  static func race(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let threads = (0..<count).map { number in TestThread { body(number) } }
    for thread in threads { thread.join() }
  }

  private final class Body: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }
}

/// A number that several threads share.
final class SharedNumber: Sendable {
  private let number: Atomic<Int>

  init(_ value: Int = 0) { number = Atomic(value) }

  var value: Int { number.load(ordering: .sequentiallyConsistent) }
  func set(_ value: Int) { number.store(value, ordering: .sequentiallyConsistent) }
  @discardableResult
  func add(_ amount: Int = 1) -> Int { number.add(amount, ordering: .sequentiallyConsistent).newValue }
}

/// Looks again and again until `condition` holds; leaves the processor to others now and then.
func spin(until condition: () -> Bool) {
  var looks = 0
  while !condition() {
    looks += 1
    if looks % 100 == 0 { sched_yield() }
  }
}

/// A loop that runs on a thread of its own until it is told to end.
struct RunningLoop {
  let loop: Loop
  private let thread: TestThread

  /// - Parameter prepare: Called on the loop's thread before it runs.
  init(_ prepare: @escaping @Sendable (Loop) -> Void = { _ in }) {
    let box = LoopBox()
    thread = TestThread {
      let loop = Loop.current
      loop.checksInvariants = true
      // Something to wait for.
      loop.add(Loop.Source {})
      prepare(loop)
      box.set(loop)
      loop.run()
    }
    loop = box.wait()
  }

  /// Returns when everything that was posted and signalled before has been served.
  ///
  /// The first block may run at the end of a turn, the second at the beginning of the next one, ahead of its signalled
  /// sources; the third comes after them.
  func settle() {
    for _ in 0..<3 {
      let isSettled = SharedNumber()
      loop.perform { isSettled.set(1) }
      spin { isSettled.value == 1 }
    }
  }

  func end() {
    loop.requestStop()
    thread.join()
  }
}

/// Hands a loop from the thread that made it to another.
final class LoopBox: @unchecked Sendable {
  private var loop: Loop?
  private let isFull = SharedNumber()

  func set(_ new: Loop) {
    loop = new
    isFull.set(1)
  }

  func wait() -> Loop {
    spin { isFull.value == 1 }
    return loop!
  }
}

/// A variable that only the callouts of one loop touch, and others after they ended.
final class LoopVariable<Value>: @unchecked Sendable {
  var value: Value
  init(_ value: Value) { self.value = value }
}
