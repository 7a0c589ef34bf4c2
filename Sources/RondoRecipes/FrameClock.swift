public import Rondo
import Synchronization

extension Loop {
  /// Calls its handler for each frame of a steady clock, and counts skipped frames.
  ///
  /// Frames lie on a fixed grid. Frames that pass while the loop is busy merge into the next one. The clock is a
  /// repeating timer, which runs until `invalidate()` even if you release the clock. Every member may be used from any
  /// thread.
  public final class FrameClock: Sendable {
    /// A frame, as the handler receives it.
    public struct Frame: Sendable, Hashable {
      /// The number of the frame, from 1; skipped frames have numbers too.
      public let number: UInt64
      /// The number of frames skipped since the previous callout.
      public let skipped: Int
      /// The date at which the frame was due.
      public let scheduled: SuspendingClock.Instant
      /// The date at which the loop served the timer.
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

    /// Creates a clock in a mode of `loop`, its first frame due after one interval.
    ///
    /// - Parameters:
    ///   - interval: The time between frames; a sixtieth of a second is `.nanoseconds(16_666_667)`.
    ///   - tolerance: How much later the loop may call the handler, to share a wakeup.
    ///   - handler: Called on the loop's thread.
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

    /// The number of frames skipped since the clock was created.
    public var skippedFrames: UInt64 { count.skipped.load(ordering: .relaxed) }

    /// Whether the clock is paused.
    ///
    /// If you resume it, the first frame of a new grid is due after one interval. Frames of the pause do not count as
    /// skipped.
    public var isPaused: Bool {
      get { count.isPaused.load(ordering: .relaxed) }
      set {
        guard count.isPaused.exchange(newValue, ordering: .relaxed) != newValue else { return }
        timer.setFireDate(after: newValue ? .seconds(Int64.max) : interval)
      }
    }

    /// Stops the clock permanently.
    public func invalidate() {
      timer.invalidate()
    }
  }
}
