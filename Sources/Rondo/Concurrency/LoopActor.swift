/// An actor on a loop's thread, ready to be what a global actor shares.
///
/// Its functions, and what is marked with the global actor, run on that thread only. Actors of one loop call each other
/// without leaving it.
public actor LoopActor {
  /// The loop its functions run on.
  public nonisolated let loop: Loop
  /// *constant* Lives as long as the actor.
  private let thread: LoopThread?

  /// An actor on a loop that somebody else runs.
  public init(_ loop: Loop) {
    self.loop = loop
    thread = nil
  }

  /// An actor on a thread, which it keeps.
  public init(_ thread: LoopThread) {
    self.thread = thread
    loop = thread.loop
  }

  public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }
}
