/// An actor on a loop's thread, for use as a global actor's shared instance.
///
/// Its functions, and all code that is marked with the global actor, run on that thread only. Actors of one loop call
/// each other without leaving the thread.
public actor LoopActor {
  /// The loop that runs the actor's functions.
  public nonisolated let loop: Loop
  /// *constant* Lives as long as the actor.
  private let thread: LoopThread?

  /// Makes an actor on a loop that another part of the program runs.
  public init(_ loop: Loop) {
    self.loop = loop
    thread = nil
  }

  /// Makes an actor on a thread, which the actor keeps.
  public init(_ thread: LoopThread) {
    self.thread = thread
    loop = thread.loop
  }

  /// The loop's executor.
  public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }
}
