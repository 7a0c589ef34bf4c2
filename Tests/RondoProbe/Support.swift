import CLinux
import Glibc
import Rondo

/// Leaves a mark of the calling thread in a trace of system calls: a write that fails.
func mark(_ name: StaticString) {
  _ = unsafe write(-1, name.utf8Start, name.utf8CodeUnitCount)
}

/// Prints a finding the tests read: `name value`.
func report(_ name: String, _ value: some Any) {
  print(name, value)
}

/// Runs `body` on a thread of its own.
func startThread(_ body: @escaping @Sendable () -> Void) -> pthread_t {
  let box = unsafe Unmanaged.passRetained(ThreadBody(body)).toOpaque()
  var thread = pthread_t()
  let error = unsafe pthread_create(
    &thread, nil,
    { argument in
      unsafe Unmanaged<ThreadBody>.fromOpaque(argument!).takeRetainedValue().run()
      return nil
    }, box)
  precondition(error == 0, "pthread_create failed: \(error)")
  return thread
}

func join(_ thread: pthread_t) {
  _ = pthread_join(thread, nil)
}

private final class ThreadBody: Sendable {
  let run: @Sendable () -> Void
  init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

/// A descriptor that is ready for reading, and stays so.
func readyDescriptor() -> CInt {
  let descriptor = rondo_eventfd()
  rondo_eventfd_signal(descriptor)
  return descriptor
}

/// A loop that runs on a thread of its own until it is told to stop.
struct RunningLoop {
  let loop: Loop
  let thread: pthread_t

  /// - Parameter prepare: Called on the loop's thread before it runs.
  init(_ prepare: @escaping @Sendable (Loop) -> Void) {
    let made = Shared<Loop>()
    thread = startThread {
      let loop = Loop.current
      prepare(loop)
      made.set(loop)
      loop.run()
    }
    loop = made.wait()
  }

  func stop() {
    loop.requestStop()
    join(thread)
  }
}
