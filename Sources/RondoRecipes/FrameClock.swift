public import Rondo
import Synchronization

extension Loop {
  /// Calls its handler for each frame of a steady clock, and counts the skipped ones.
  ///
  /// Frames lie on a grid that never shifts; those that pass while the loop is busy are merged into the next one. The
  /// loop keeps it until `invalidate()`. Every member may be used from any thread. A repeating timer.
  public final class FrameClock: Sendable {
    /// What a frame's callout learns.
    public struct Frame: Sendable, Hashable {
      /// Which frame it is, from 1 on; skipped ones have numbers too.
      public let number: UInt64
      /// How many frames before it were skipped.
      public let skipped: Int
      /// When the frame was due.
      public let scheduled: SuspendingClock.Instant
      /// When the loop came to it.
      public let actual: SuspendingClock.Instant
    }

    /// *constant*
    private let timer: Timer
    /// *constant*
    private let interval: Duration
    /// *constant*
    private let count: Count

    private final class Count: Sendable {
      /// *atomic* The last frame's number.
      let number = Atomic<UInt64>(0)
      /// *atomic* Skipped so far.
      let skipped = Atomic<UInt64>(0)
      /// *atomic*
      let isPaused = Atomic<Bool>(false)
    }

    /// A clock in `loop` that tells its first frame one interval from now.
    ///
    /// - Parameters:
    ///   - interval: The time between frames; a sixtieth of a second is `.nanoseconds(16_666_667)`.
    ///   - tolerance: How much later a frame may be told so that wakeups are shared.
    public init(
      every interval: Duration, tolerance: Duration = .zero, on loop: Loop, in mode: Mode = .default,
      handler: sending @escaping (Frame) -> Void
    ) {
      let count = Count()
      self.count = count
      self.interval = interval
      timer = Timer(every: interval, tolerance: tolerance) { tick in
        count.skipped.add(UInt64(tick.missed), ordering: .relaxed)
        let number = count.number.add(UInt64(tick.missed) + 1, ordering: .relaxed).newValue
        handler(
          Frame(number: number, skipped: tick.missed, scheduled: tick.scheduled, actual: tick.actual))
      }
      loop.add(timer, to: mode)
    }

    /// How many frames have been skipped since the beginning.
    public var skippedFrames: UInt64 { count.skipped.load(ordering: .relaxed) }

    /// Whether frames are held back. Going on begins a new grid one interval later; what was paused is not skipped.
    public var isPaused: Bool {
      get { count.isPaused.load(ordering: .relaxed) }
      set {
        guard count.isPaused.exchange(newValue, ordering: .relaxed) != newValue else { return }
        timer.setFireDate(after: newValue ? .seconds(Int64.max) : interval)
      }
    }

    /// Ends it for good.
    public func invalidate() {
      timer.invalidate()
    }
  }
}
