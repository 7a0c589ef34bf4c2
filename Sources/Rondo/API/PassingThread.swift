import Glibc

/// A thread that does one thing and ends, and with it what a library keeps for each thread.
package final class PassingThread {
  /// *constant*
  private let work: () -> Void

  private init(_ work: @escaping () -> Void) { self.work = work }

  /// Does the work on such a thread, and waits for it. Any thread.
  ///
  /// - Returns: 0; or errno of pthread_create(3), and then nothing is done.
  package static func run(_ work: @escaping () -> Void) -> CInt {
    let errand = PassingThread(work)
    var thread = pthread_t()
    let error = unsafe pthread_create(
      &thread, nil,
      { argument in
        unsafe Unmanaged<PassingThread>.fromOpaque(argument!).takeUnretainedValue().work()
        return nil
      }, Unmanaged.passUnretained(errand).toOpaque())
    if error == 0 { pthread_join(thread, nil) }
    return error
  }
}
