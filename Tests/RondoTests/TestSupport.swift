import Glibc
import Rondo
import RondoTesting
import Synchronization

// The mutants' build leaves all upper floors out.
#if canImport(RondoTestBridge)
  import RondoTestBridge
  let hasBridge = isBridged
#else
  let hasBridge = false
  private func loopOfThread() -> Loop { .current }
#endif

/// A loop and what happened on it, for handlers to share. Everything on it belongs to the loop's thread.
class Stage: @unchecked Sendable {
  let loop: Loop
  let trace = Trace()
  /// Descriptors must not be closed by ARC while a test only knows their numbers.
  private var kept: [AnyObject] = []
  /// Items that may have captured themselves and outlive the loop: sources, and what a test takes out of it.
  private var owned: [Loop.Item] = []
  /// What else is to be done then.
  private var endings: [() -> Void] = []

  init(_ loop: Loop) {
    self.loop = loop
  }

  /// Has the item invalidated with the stage.
  func own(_ item: Loop.Item) { owned.append(item) }

  /// Has `body` called with the stage's end, while the loop lives.
  func whenFinished(_ body: @escaping () -> Void) { endings.append(body) }

  /// Invalidates the stage's own items, so that those that captured themselves are let go.
  func finish() {
    for item in owned { item.invalidate() }
    owned = []
    for end in endings { end() }
    endings = []
  }

  /// What was noted so far, and a fresh start.
  func take() -> String { trace.take() }

  /// What was noted so far.
  var text: String { trace.text }

  func note(_ token: String) { trace.note(token) }

  /// Runs the default mode until a source was handled, a minute at most.
  func runUntilHandled() {
    loop.run(for: .seconds(60), returnAfterSourceHandled: true)
  }

  /// A pipe that is closed with the stage.
  func pipe() -> TestPipe {
    let pipe = TestPipe()
    kept.append(pipe)
    return pipe
  }

  /// Two connected sockets that are closed with the stage.
  func sockets() -> TestSockets {
    let sockets = TestSockets()
    kept.append(sockets)
    return sockets
  }

  /// A source that is never signalled: the mode is not empty.
  @discardableResult
  func keepAlive(in mode: Loop.Mode = .default) -> Loop.Source {
    let source = Loop.Source {}
    loop.add(source, to: mode)
    return source
  }

  /// A source that notes its name when performed, then does more.
  @discardableResult
  func source(
    _ name: String, order: Int = 0, in mode: Loop.Mode? = .default, then more: @escaping @Sendable () -> Void = {}
  ) -> Loop.Source {
    let source = Loop.Source(order: order) {
      self.note(name)
      more()
    }
    own(source)
    if let mode { loop.add(source, to: mode) }
    return source
  }

  /// A one-shot timer that notes its name, then does more.
  @discardableResult
  func timer(
    _ name: String, after delay: Duration, tolerance: Duration = .zero, order: Int = 0,
    in mode: Loop.Mode? = .default, then more: @escaping @Sendable (Loop.Timer.Tick) -> Void = { _ in }
  ) -> Loop.Timer {
    let timer = Loop.Timer(after: delay, tolerance: tolerance, order: order) { tick in
      self.note(name)
      more(tick)
    }
    if let mode { loop.add(timer, to: mode) }
    return timer
  }

  /// A repeating timer that notes its name, then does more.
  @discardableResult
  func timer(
    _ name: String, every interval: Duration, tolerance: Duration = .zero, order: Int = 0,
    in mode: Loop.Mode? = .default, then more: @escaping @Sendable (Loop.Timer.Tick) -> Void = { _ in }
  ) -> Loop.Timer {
    let timer = Loop.Timer(every: interval, tolerance: tolerance, order: order) { tick in
      self.note(name)
      more(tick)
    }
    if let mode { loop.add(timer, to: mode) }
    return timer
  }

  /// A block that notes its name, then does more.
  func block(_ name: String, in mode: Loop.Mode = .default, then more: @escaping @Sendable () -> Void = {}) {
    loop.perform(in: mode) {
      self.note(name)
      more()
    }
  }

  /// A descriptor source that notes its name, then does more.
  @discardableResult
  func descriptor(
    _ name: String, _ descriptor: CInt, for interest: Loop.DescriptorSource.Readiness = .read,
    trigger: Loop.DescriptorSource.Trigger = .level, order: Int = 0, in mode: Loop.Mode = .default,
    closesOnInvalidation: Bool = false,
    then more: @escaping @Sendable (Loop.DescriptorSource, Loop.DescriptorSource.Readiness) -> Void = { _, _ in }
  ) -> Loop.DescriptorSource {
    do {
      let source = try Loop.DescriptorSource(
        descriptor, for: interest, trigger: trigger, order: order, closesOnInvalidation: closesOnInvalidation
      ) { source, readiness in
        self.note(name)
        more(source, readiness)
      }
      loop.add(source, to: mode)
      return source
    } catch {
      fatalError("\(error)")
    }
  }

  /// An observer that does something at some activities.
  @discardableResult
  func observer(
    _ activities: Loop.Activity, repeats: Bool = true, order: Int = 0, in mode: Loop.Mode? = .default,
    then more: @escaping @Sendable (Loop.Activity) -> Void
  ) -> Loop.Observer {
    let observer = Loop.Observer(activities, repeats: repeats, order: order, handler: more)
    if let mode { loop.add(observer, to: mode) }
    return observer
  }
}

/// A stage in virtual time.
final class VirtualStage: Stage, @unchecked Sendable {
  let virtual: VirtualLoop

  init(_ virtual: VirtualLoop) {
    self.virtual = virtual
    super.init(virtual.loop)
  }

  /// Whole virtual milliseconds since the stage was set.
  var milliseconds: Int64 {
    virtual.elapsed.milliseconds
  }

  /// Notes `name` and the virtual millisecond.
  func noteTime(_ name: String) {
    note("\(name)@\(milliseconds)")
  }
}

extension Duration {
  /// Whole milliseconds, towards zero.
  var milliseconds: Int64 {
    components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
  }
}

/// Runs `body` with a loop in virtual time, whose default mode is traced unless `isObserved` is false.
@available(*, noasync)
func withStage(isObserved: Bool = true, _ body: (VirtualStage) throws -> Void) rethrows {
  try withVirtualLoop { virtual in
    virtual.loop.checksInvariants = true
    let stage = VirtualStage(virtual)
    if isObserved { stage.trace.observe(virtual.loop) }
    defer { stage.finish() }
    try body(stage)
  }
}

/// Something a handler gets to know after it was made.
final class Later<Value>: @unchecked Sendable {
  var value: Value!

  init(_ value: Value? = nil) {
    self.value = value
  }
}

/// A thread that runs `body` once; whoever joins gets what it returned.
final class TestThread<Result>: @unchecked Sendable {
  private let body: @Sendable () -> Result
  private var result: Result?
  private var thread = pthread_t()

  init(_ body: @escaping @Sendable () -> Result) {
    self.body = body
    let start = Start { self.result = self.body() }
    let error = unsafe pthread_create(
      &thread, nil,
      { argument in
        let start = unsafe Unmanaged<Start>.fromOpaque(argument!).takeRetainedValue()
        start.body()
        return nil
      }, Unmanaged.passRetained(start).toOpaque())
    precondition(error == 0, "No thread could be made: errno \(error).")
  }

  func join() -> Result {
    _ = pthread_join(thread, nil)
    return result!
  }
}

/// What a new thread is told to do.
private final class Start {
  let body: () -> Void

  init(_ body: @escaping () -> Void) {
    self.body = body
  }
}

/// Runs `body` with the real loop of a new thread and waits for it.
func onLoopThread<Result>(_ body: @escaping @Sendable (Stage) -> Result) -> Result {
  TestThread {
    let stage = Stage(loopOfThread())
    defer { stage.finish() }
    return body(stage)
  }.join()
}

/// A new thread's loop, running until it is stopped.
final class RunningLoop: @unchecked Sendable {
  let loop: Loop
  private let thread: TestThread<Loop.RunResult>

  /// - Parameter isKeptAlive: Whether a source that is never signalled keeps the default mode from being empty.
  init(isKeptAlive: Bool = true, preparing prepare: @escaping @Sendable (Loop) -> Void = { _ in }) {
    let made = Handover<Loop>()
    thread = TestThread {
      let loop = loopOfThread()
      loop.checksInvariants = true
      if isKeptAlive { loop.add(Loop.Source {}) }
      prepare(loop)
      made.put(loop)
      return loop.run()
    }
    loop = made.take()
  }

  /// Returns when the loop sleeps.
  func waitUntilAsleep() {
    while !loop.isWaiting { usleep(100) }
  }

  @discardableResult
  func stop() -> Loop.RunResult {
    loop.requestStop()
    return thread.join()
  }

  /// Waits for a run that ends by itself.
  func join() -> Loop.RunResult { thread.join() }
}

/// Passes a value from one thread to another, which waits for it.
final class Handover<Value: Sendable>: Sendable {
  private let value = Mutex<Value?>(nil)

  func put(_ value: Value) {
    self.value.withLock { $0 = value }
  }

  func take() -> Value {
    while true {
      if let value = value.withLock({ $0 }) { return value }
      usleep(100)
    }
  }
}

/// A count that any thread may add to and read.
final class Tally: Sendable {
  private let value = Atomic<Int>(0)

  func add() { value.add(1, ordering: .sequentiallyConsistent) }

  var count: Int { value.load(ordering: .sequentiallyConsistent) }
}

/// Gives other threads a chance to run.
func yieldThread() {
  usleep(100)
}
