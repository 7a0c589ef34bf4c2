import Glibc

/// A thread that does one thing and ends, and with it what a library keeps for each thread.
final class PassingThread {
  private let work: () -> Void

  private init(_ work: @escaping () -> Void) { self.work = work }

  /// Does the work on such a thread, or on the caller's if none can be had. Waits for it. Any thread.
  static func run(_ work: @escaping () -> Void) {
    let it = PassingThread(work)
    var thread = pthread_t()
    let error = unsafe pthread_create(
      &thread, nil,
      { argument in
        unsafe Unmanaged<PassingThread>.fromOpaque(argument!).takeUnretainedValue().work()
        return nil
      }, Unmanaged.passUnretained(it).toOpaque())
    if error == 0 { pthread_join(thread, nil) } else { work() }
  }
}
