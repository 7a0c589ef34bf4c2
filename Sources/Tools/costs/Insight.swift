import Glibc
import Rondo
import RondoInspect

/// Turns with a source that signals itself, and a ready descriptor. The watcher has a thread, but does not watch the loop.
class BothTurns: SourceTurns {
  /// It looks once in hours.
  fileprivate static let monitor = try! StallMonitor(limit: .seconds(86_400))

  override init(_ loop: Loop) {
    super.init(loop)
    loop.add(readySource(tally))
    watch(loop)
    // The watcher's thread counts, too: it is at rest by then.
    usleep(200_000)
  }

  func watch(_ loop: Loop) { _ = Self.monitor }

  override func perform(_ count: Int) {
    super.perform(2 * count)
  }

  override func expectedCalls(_ count: Int) -> Int { 2 * count }
}

/// The same with a stall monitor.
class WatchedTurns: BothTurns {
  override func watch(_ loop: Loop) { Self.monitor.watch(loop) }
}

/// The same with histograms of every item.
final class MeasuredTurns: WatchedTurns {
  override func watch(_ loop: Loop) {
    super.watch(loop)
    loop.insight.measure()
  }
}
