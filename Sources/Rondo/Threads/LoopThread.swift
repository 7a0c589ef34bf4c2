/// A thread whose loop runs until it is stopped, even with nothing to do.
///
/// It runs from `init` on, in the default mode. A run that is ended by `Loop.stop()` or `Loop.requestStop()` begins
/// anew; only `stop(_:)` ends the thread. Every member may be called from any thread. When the last reference goes, even
/// inside one of the thread's own blocks, the thread finishes what it was given and ends, and nobody waits for it.
public final class LoopThread: Sendable {
  /// The name in full; the kernel shows its first 15 bytes. See prctl(2).
  public let name: String
  /// The thread's loop: add items to it from anywhere.
  public let loop: Loop
  /// *constant* What the thread itself holds; not this object, or the last reference would never go.
  private let life: ThreadLife

  /// Starts a thread. It has a loop at once, and serves what is given to that loop in order.
  ///
  /// - Parameter stackSize: In bytes; nil for the system's choice. See pthread_attr_setstacksize(3).
  /// - Throws: `.noThread` if the system has none left, `.stackSize` if it cannot give that stack, `.noDescriptors` if
  ///   there are not the three that a loop needs.
  public init(name: String = "LoopThread", stackSize: Int? = nil) throws(StartError) {
    self.name = name
    let record = ThreadRecord.forNewThread()
    do {
      loop = try record.makeOwnLoop()
    } catch {
      throw .noDescriptors(errno: error.errno)
    }
    loop.name = name
    life = ThreadLife(record: record, loop: loop, name: name)
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

  /// Runs `block` once on the thread, after what came before. Does not wait. O(1).
  ///
  /// - Parameter mode: The mode its loop has to be running; a nested run in another mode lets the block wait.
  /// - Returns: False if the thread is ending or has ended; the block is then dropped.
  @discardableResult
  public func execute(in mode: Loop.Mode = .default, _ block: sending @escaping () -> Void) -> Bool {
    guard !life.isEnding else { return false }
    return loop.perform(in: mode, block)
  }

  // MARK: - The end

  /// What becomes of the blocks that were accepted and have not begun.
  public enum Stop: Sendable, Hashable {
    /// They run first, those of the default mode and the common modes. They can add none.
    case drain
    /// They are dropped; the one that runs now is finished.
    case drop
  }

  /// Ends the thread, and returns when it is gone, with its loop. Any thread.
  ///
  /// On the thread itself it does not wait: the thread ends when its blocks have returned. It may be called again, and
  /// by several threads, each of which waits; `.drop` also cuts short a drain under way. Runs that a block has nested
  /// are ended too. Two threads that stop each other would wait for each other.
  @available(*, noasync, message: "This blocks the thread until another one has ended. Use await thread.end().")
  public func stop(_ blocks: Stop = .drain) {
    life.requestEnd(blocks)
    if !isCurrent { life.join() }
  }

  /// Has the thread end as `stop(_:)` does, and waits for nothing. Any thread.
  package func requestEnd(_ blocks: Stop = .drain) {
    life.requestEnd(blocks)
  }

  /// Ends the thread as `stop(_:)` does, and suspends until its loop is gone.
  public func end(_ blocks: Stop = .drain) async {
    life.requestEnd(blocks)
    await life.waitForEnd()
  }

  // MARK: - Errors

  /// Why a thread could not be started.
  public enum StartError: Error, Hashable, Sendable, CustomStringConvertible {
    /// pthread_create(3) failed with this errno.
    case noThread(errno: CInt)
    /// A loop needs three file descriptors, and making them failed with this errno.
    case noDescriptors(errno: CInt)
    /// The stack's size in bytes is none that the system can give.
    case stackSize(Int)

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
