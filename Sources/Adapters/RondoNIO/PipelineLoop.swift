#if NIO
  internal import Dispatch
  internal import Glibc
  internal import NIOConcurrencyHelpers
  internal import NIOCore
  internal import Rondo
  internal import Synchronization

  /// SwiftNIO's event loop for the handlers of one channel: one thread at a time is inside of it.
  ///
  /// Calls come in from any thread. Timers, and work from outside, run on the loop's thread.
  final class PipelineLoop: EventLoop, @unchecked Sendable {
    // Unchecked because of the field that only the thread inside uses.

    /// *constant*
    let loop: Loop
    /// *constant* In whose runs timers fire and work is done.
    private let mode: Loop.Mode
    /// *constant* Held while handlers run, as an event loop of SwiftNIO's takes its thread. It guards calls, not data: a
    /// handler may use a loop and other channels. A lock of Rondo's is never held in a callout.
    private let lock = NIOLock()
    /// *atomic* The thread inside; 0 for none. A thread reads its own number, or another one's.
    private let insider = Atomic<UInt>(0)
    /// *the thread inside* What it does before it leaves.
    private var tasks: [() -> Void] = []

    init(on loop: Loop, in mode: Loop.Mode) {
      self.loop = loop
      self.mode = mode
    }

    var inEventLoop: Bool { insider.load(ordering: .relaxed) == pthread_self() }

    /// Runs `body` inside, after any other thread, and then what it has left to do.
    @inline(__always)
    func inside<Answer, Failure: Error>(_ body: () throws(Failure) -> Answer) throws(Failure) -> Answer {
      if inEventLoop { return try body() }
      lock.lock()
      insider.store(pthread_self(), ordering: .relaxed)
      defer {
        if !tasks.isEmpty { runTasks() }
        insider.store(0, ordering: .relaxed)
        lock.unlock()
      }
      return try body()
    }

    private func runTasks() {
      while !tasks.isEmpty {
        let batch = tasks
        tasks = []
        for task in batch { task() }
      }
    }

    // MARK: - EventLoop

    func execute(_ task: @escaping @Sendable () -> Void) {
      if inEventLoop {
        tasks.append(task)
      } else if loop.isCurrent {
        // Calls on a channel come in their order, beside those on its pipeline.
        inside(task)
      } else if !loop.perform(in: mode, { self.inside(task) }) {
        // The loop has ended. A promise that is never completed would end a debug build.
        inside(task)
      }
    }

    var now: NIODeadline { .uptimeNanoseconds(UInt64(max(0, loop.now.nanoseconds))) }

    func scheduleTask<T>(deadline: NIODeadline, _ task: @escaping @Sendable () throws -> T) -> Scheduled<T> {
      scheduleTask(in: deadline - now, task)
    }

    func scheduleTask<T>(in delay: TimeAmount, _ task: @escaping @Sendable () throws -> T) -> Scheduled<T> {
      let promise = makePromise(of: T.self)
      let timer = DelegatingTimer(after: .nanoseconds(max(0, delay.nanoseconds))) { _ in
        self.inside { promise.assumeIsolated().completeWith(Result(catching: task)) }
      }
      // What has fired or was cancelled has its result already: this is for the loop's end.
      timer.delegate = WhenInvalidated { self.execute { promise.fail(EventLoopError.shutdown) } }
      if !loop.add(timer, to: mode) { timer.invalidate() }
      return Scheduled(promise: promise) { timer.invalidate() }
    }

    /// Ends nothing: the loop belongs to the program.
    func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void) {
      queue.async { callback(EventLoopError.unsupportedOperation) }
    }
  }
#endif
