import Rondo

/// One thread at a time is looked at: there is one signal handler, and one place for its registers.
enum ThreadSampler {
  private static let turn = Guarded<Void>(())

  static func sample(of thread: Int32) -> ThreadSample {
    turn.withLock { _ in ThreadSample.take(of: thread) }
  }
}
