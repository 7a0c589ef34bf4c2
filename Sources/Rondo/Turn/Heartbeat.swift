import Synchronization

extension Loop {
  /// The state of a loop, by which a watcher finds a loop that is stuck.
  public struct Heartbeat: Sendable, Hashable {
    /// Grows with every turn and every wake.
    ///
    /// If it does not change while `phase` is neither `.waiting` nor `.notRunning`, a callout takes long.
    public let beats: UInt64
    /// The step of the turn that the loop is in.
    public let phase: Phase
    /// The number of nested runs; 0 when the loop is not running.
    public let depth: Int

    /// The steps of a turn, and `notRunning` for a loop outside of any run.
    public enum Phase: UInt8, Sendable, Hashable {
      case notRunning, observers, blocks, sources, waiting, timers, descriptors, mainQueue, jobs
    }
  }
}

/// The word behind `Loop.Heartbeat`: beat, phase and depth in one, so that a watcher sees them together.
///
/// One writer, the loop's thread; any thread may read. It stands among the counters, which have the same writer, so that no
/// other thread writes to its cache line.
struct Pulse: ~Copyable, Sendable {
  /// *atomic* Beats in the upper 48 bits, depth in the next 8, phase in the lowest 8.
  private let word = Atomic<UInt64>(0)

  private static let oneBeat: UInt64 = 1 << 16

  @inline(__always)
  func enter(_ phase: Loop.Heartbeat.Phase) {
    let old = word.load(ordering: .relaxed)
    word.store((old & ~0xFF) &+ Self.oneBeat | UInt64(phase.rawValue), ordering: .relaxed)
  }

  func setDepth(_ depth: Int) {
    let old = word.load(ordering: .relaxed)
    word.store((old & ~0xFF00) | UInt64(truncatingIfNeeded: min(depth, 255)) << 8, ordering: .relaxed)
  }

  /// The outermost run has ended: depth 0, in phase 0.
  func rest() { word.store((word.load(ordering: .relaxed) & ~0xFFFF) &+ Self.oneBeat, ordering: .relaxed) }

  @inline(__always)
  var beats: UInt64 { word.load(ordering: .relaxed) >> 16 }

  var snapshot: Loop.Heartbeat {
    let word = word.load(ordering: .relaxed)
    return Loop.Heartbeat(
      beats: word >> 16,
      phase: Loop.Heartbeat.Phase(rawValue: UInt8(truncatingIfNeeded: word)) ?? .notRunning,
      depth: Int(word >> 8 & 0xFF))
  }

  @inline(__always)
  var isWaiting: Bool {
    UInt8(truncatingIfNeeded: word.load(ordering: .relaxed)) == Loop.Heartbeat.Phase.waiting.rawValue
  }
}
