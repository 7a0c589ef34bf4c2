internal import CLinux
public import Rondo
internal import Synchronization

/// Several loops, each on a thread of its own, among which you distribute work.
///
/// ```swift
/// let group = try LoopGroup(threads: 2, name: "worker")
/// let place = group.place(by: .leastLoaded)
/// place.loop.perform { log.note("on a loop of \(group.loops.count)") }
/// group.stop()
/// ```
///
/// A loop's load is the number of ``Place``s that are taken on it. Use every member from any thread. When the last
/// reference is released, the threads finish their blocks and end, and no thread waits for them.
public final class LoopGroup: Sendable {
  /// The loops, in the order of their threads.
  public let loops: [Loop]
  /// *constant* Empty for loops that are others'.
  private let threads: [LoopThread]
  /// *its lock*
  private let tally: Guarded<LoopTally>

  /// A way to choose a loop.
  public enum Choice: Hashable, Sendable {
    /// Each loop in turn, whatever its load.
    case roundRobin
    /// The loop with the fewest places taken; among equals, the next in turn.
    case leastLoaded
  }

  /// Starts threads, named `name` and their number.
  ///
  /// To keep each on a processor of its own, pass ``loops`` to `Loop.spread(_:)` of `RondoDaemon`.
  ///
  /// - Parameter count: At least one; nil for the number of processors that this thread may run on. A simulated
  ///   host has two.
  /// - Throws: Why a thread could not be started. No thread is left behind then.
  public init(threads count: Int? = nil, name: String = "loop") throws(LoopThread.StartError) {
    require(count ?? 1 > 0, "A LoopGroup has one thread at least. Use LoopGroup(of: [.main]) for none of its own.")
    var threads: [LoopThread] = []
    do throws(LoopThread.StartError) {
      for index in 0..<(count ?? Self.processorCount) { threads.append(try LoopThread(name: "\(name) \(index)")) }
    } catch {
      for thread in threads { thread.stop() }
      throw error
    }
    self.threads = threads
    loops = threads.map(\.loop)
    tally = Guarded(LoopTally(count: loops.count))
  }

  /// Makes a group of loops that other code runs. It does not stop them.
  public init(of loops: [Loop]) {
    require(!loops.isEmpty, "A LoopGroup has one loop at least. Use LoopGroup(of: [.main]).")
    self.loops = loops
    threads = []
    tally = Guarded(LoopTally(count: loops.count))
  }

  // MARK: - Choosing

  /// Takes a place on a loop of the group. O(1), or O(n) for the least loaded.
  ///
  /// The place is taken until you leave it or release the last reference.
  public func place(by choice: Choice = .leastLoaded) -> Place {
    Place(self, tally.withLock { $0.take(by: choice) })
  }

  /// The number of places taken on each loop.
  package var loads: [Int] { tally.withLock { $0.loads } }

  fileprivate func leave(_ index: Int) {
    tally.withLock { $0.leave(index) }
  }

  // MARK: - The end

  /// Ends all threads, and returns after they have ended. See `LoopThread.stop(_:)`.
  ///
  /// On a thread of the group it does not wait for that thread. It does not stop loops that other code runs.
  @available(*, noasync, message: "This blocks the thread until others have ended. Use await group.end().")
  public func stop(_ blocks: LoopThread.Stop = .drain) {
    for thread in threads { thread.requestEnd(blocks) }
    for thread in threads { thread.stop(blocks) }
  }

  /// Ends the threads as `stop(_:)` does, and suspends until all have ended.
  public func end(_ blocks: LoopThread.Stop = .drain) async {
    for thread in threads { thread.requestEnd(blocks) }
    for thread in threads { await thread.end(blocks) }
  }

  /// The number of processors that the calling thread may run on.
  private static var processorCount: Int {
    if let simulated = Loop.scope?.processorCount { return simulated }
    var numbers = [CInt](repeating: 0, count: 8_192)
    return max(1, Int(unsafe rondo_allowed_processors(0, &numbers, CInt(numbers.count))))
  }
}

extension LoopGroup {
  /// A unit of a loop's load, until you leave it or release the last reference.
  public final class Place: Sendable {
    /// *constant*
    private let group: LoopGroup
    /// The index of the loop in the group.
    public let index: Int
    /// *atomic*
    private let isLeft = Atomic<Bool>(false)

    fileprivate init(_ group: LoopGroup, _ index: Int) {
      self.group = group
      self.index = index
    }

    deinit { leave() }

    /// The loop of the place.
    public var loop: Loop { group.loops[index] }

    /// Takes the place off the loop's load. A second call does nothing. Any thread.
    public func leave() {
      if !isLeft.exchange(true, ordering: .relaxed) { group.leave(index) }
    }
  }
}
