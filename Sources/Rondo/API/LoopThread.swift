/// A thread whose loop runs until you stop it, even with an empty mode.
///
/// It runs from `init` on, in the default mode. If `Loop.stop()` or `Loop.requestStop()` ends its run, it begins
/// another one; only `stop(_:)` ends the thread. Use every member from any thread. When the last reference is released,
/// the thread finishes its blocks and ends, and no thread waits for it. The last reference may be released inside a
/// block of the thread. One that code of a simulated host starts belongs to that host, and has its time.
public final class LoopThread: Sendable {
  /// The full name; the kernel shows its first 15 bytes. See prctl(2).
  public let name: String
  /// The thread's loop. Add items to it from any thread.
  public let loop: Loop
  /// *constant* What the thread itself holds; not this object, or the last reference would never go.
  private let life: ThreadLife

  /// Starts a thread with a loop, which runs posted blocks in order.
  ///
  /// - Parameter stackSize: In bytes; nil for the system's choice. See pthread_attr_setstacksize(3).
  /// - Throws: `.noThread` if the system has none left, `.stackSize` if it cannot provide that stack, `.noDescriptors`
  ///   if the three descriptors of a loop are not available.
  public convenience init(name: String = "LoopThread", stackSize: Int? = nil) throws(StartError) {
    try self.init(name, stackSize: stackSize, callsHook: true)
  }

  /// Starts a thread whose loop `LoopCreationHook` does not hear of: nothing is called out.
  package convenience init(unseenByHook name: String) throws(StartError) {
    try self.init(name, stackSize: nil, callsHook: false)
  }

  private init(_ name: String, stackSize: Int?, callsHook: Bool) throws(StartError) {
    self.name = name
    let record = ThreadRecord.forNewThread()
    let virtual = callsHook ? Loop.scope?.makeThread(named: name) : nil
    do {
      loop = try record.makeOwnLoop(callsHook: callsHook, by: virtual)
    } catch {
      throw .noDescriptors(errno: error.errno)
    }
    loop.name = name
    life = ThreadLife(record: record, loop: loop, name: name, virtual: virtual)
    do {
      try life.start(stackSize: stackSize)
    } catch {
      record.end()
      throw error
    }
  }

  deinit {
    life.release()
  }

  /// Whether the calling thread is this one.
  public var isCurrent: Bool { loop.isCurrent }

  /// Whether the thread has run its last block.
  public var hasEnded: Bool { life.hasEnded }

  /// Runs `block` once on the thread, after the blocks before it. Does not wait. O(1).
  ///
  /// - Parameter mode: The mode in which the block may run. During a nested run in another mode the block waits.
  /// - Returns: False if the thread is ending or has ended. The block is then dropped.
  @discardableResult
  public func execute(in mode: Loop.Mode = .default, _ block: sending @escaping () -> Void) -> Bool {
    guard !life.isEnding else { return false }
    return loop.perform(in: mode, block)
  }

  // MARK: - The end

  /// How a stop treats blocks that were accepted and have not begun.
  public enum Stop: Sendable, Hashable {
    /// The blocks of the default mode and the common modes run first. They can add none.
    case drain
    /// The blocks are dropped; the running block finishes.
    case drop
  }

  /// Ends the thread and its loop, and returns after they have ended. Any thread.
  ///
  /// On the thread itself it does not wait: the thread ends when its blocks have returned. You may call it again, and
  /// from several threads, each of which waits. `.drop` also ends a drain under way. Runs that a block has nested end
  /// too. Two threads that stop each other wait without end. In a forked child, the parent's thread stays as it is.
  @available(*, noasync, message: "This blocks the thread until another one has ended. Use await thread.end().")
  public func stop(_ blocks: Stop = .drain) {
    life.requestEnd(blocks)
    if !isCurrent { life.join() }
  }

  /// Has the thread end as `stop(_:)` does, and waits for nothing. Any thread.
  package func requestEnd(_ blocks: Stop = .drain) {
    life.requestEnd(blocks)
  }

  /// Ends the thread as `stop(_:)` does, and suspends until its loop has ended.
  public func end(_ blocks: Stop = .drain) async {
    life.requestEnd(blocks)
    await life.waitForEnd()
  }

  // MARK: - Errors

  /// Why a thread could not be started.
  public enum StartError: Error, Hashable, Sendable, CustomStringConvertible {
    /// pthread_create(3) failed with this errno.
    case noThread(errno: CInt)
    /// The three descriptors of a loop are not available: errno.
    case noDescriptors(errno: CInt)
    /// The system cannot provide a stack of this size in bytes.
    case stackSize(Int)

    /// A sentence with the cause.
    public var description: String {
      switch self {
      case .noThread(let errno): "no thread could be started: \(describe(errno: errno))"
      case .noDescriptors(let errno):
        "a loop needs three file descriptors, and could not have them: \(describe(epoll: errno))"
      case .stackSize(let bytes): "a thread cannot have a stack of \(bytes) bytes"
      }
    }
  }
}
