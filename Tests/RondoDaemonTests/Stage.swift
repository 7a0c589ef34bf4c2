import Glibc
import Rondo
import RondoDaemon
import RondoSockets
import RondoTesting
import Synchronization

// The tests of the examples have this file, too.

/// A loop and what happened on it, for handlers to share. Everything on it belongs to the loop's thread.
final class Stage: @unchecked Sendable {
  let loop: Loop
  let trace = Trace()

  init(_ loop: Loop) {
    self.loop = loop
  }

  /// What was noted so far.
  var text: String { trace.text }

  func note(_ token: String) { trace.note(token) }

  /// A source of a signal that notes `name` and the count.
  func signal(_ name: String, _ signal: CInt, in mode: Loop.Mode? = .default, order: Int = 0) throws -> SignalSource {
    let source = try SignalSource(signal, order: order) { _, delivery in self.note("\(name)\(delivery.count)") }
    if let mode { loop.add(source, to: mode) }
    return source
  }

  /// Turns that only look, until one of them finds nothing.
  func look(in mode: Loop.Mode = .default) {
    while true {
      let before = loop.statistics.descriptorCallouts
      loop.run(in: mode, for: .zero)
      if loop.statistics.descriptorCallouts == before { return }
    }
  }

  /// Runs a mode turn by turn until `condition` holds, for at most two minutes.
  func run(in mode: Loop.Mode = .default, until condition: () -> Bool) {
    let end = SuspendingClock.now.advanced(by: .seconds(120))
    while !condition(), SuspendingClock.now < end {
      if loop.run(in: mode, until: end, returnAfterSourceHandled: true) == .finished { return }
    }
  }
}

/// Runs `body` with the real loop of a new thread and waits for it.
func onLoopThread<Result>(_ body: @escaping @Sendable (Stage) throws -> Result) throws -> Result {
  let box = ThreadBox { try body(Stage(loopUnderTest())) }
  TestThread { box.run() }.join()
  return try box.result!.get()
}

private final class ThreadBox<Value>: @unchecked Sendable {
  private let body: @Sendable () throws -> Value
  private(set) var result: Result<Value, any Error>?

  init(_ body: @escaping @Sendable () throws -> Value) {
    self.body = body
  }

  func run() {
    result = Result(catching: body)
  }
}

/// Has signals come to the calling thread: Dispatch's workers, which run tests, block them, and so would their threads.
func unblockSignals() {
  var none = sigset_t()
  unsafe sigemptyset(&none)
  precondition(unsafe pthread_sigmask(SIG_SETMASK, &none, nil) == 0)
}

/// A thread of the test's own.
struct TestThread {
  private let handle: pthread_t

  init(_ body: @escaping @Sendable () -> Void) {
    let box = unsafe Unmanaged.passRetained(Body(body)).toOpaque()
    var handle = pthread_t()
    let error = unsafe pthread_create(
      &handle, nil,
      { argument in
        unblockSignals()
        unsafe Unmanaged<Body>.fromOpaque(argument!).takeRetainedValue().run()
        return nil
      }, box)
    precondition(error == 0, "pthread_create failed: \(error)")
    self.handle = handle
  }

  func join() {
    _ = pthread_join(handle, nil)
  }

  private final class Body: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }
}

/// A number that several threads share.
final class SharedNumber: Sendable {
  private let number = Atomic<Int>(0)

  var value: Int { number.load(ordering: .sequentiallyConsistent) }
  @discardableResult
  func add(_ amount: Int) -> Int { number.add(amount, ordering: .sequentiallyConsistent).newValue }
}

/// A name that is not in use.
func uniqueName(_ stem: String = "rondo-test") -> String {
  "\(stem)-\(getpid())-\(UInt64.random(in: 0 ... .max))"
}

/// A connection to an abstract name, as soon as a server listens there.
func connectOnceItListens(to name: String) throws -> Socket {
  let socket = try Socket(family: AF_UNIX, .stream)
  while true {
    do throws(SocketError) {
      try socket.connect(to: try! .abstract(name), timeout: .seconds(120))
      return socket
    } catch .refused, .notFound {
      // It does not listen yet.
      usleep(1_000)
    } catch {
      throw error
    }
  }
}
