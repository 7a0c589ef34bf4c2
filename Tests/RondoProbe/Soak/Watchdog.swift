import Glibc
import Rondo
import Synchronization

/// Ends the process when nothing has moved for two minutes, and says what each loop was doing.
final class Watchdog: Sendable {
  private let ledger: Ledger
  private let seed: UInt64
  private let crew = Guarded<Crew?>(nil)

  /// Generous, for a machine that does other things as well.
  private static let patience = 120

  init(_ ledger: Ledger, seed: UInt64) {
    self.ledger = ledger
    self.seed = seed
  }

  /// Whose loops to ask.
  func watch(_ crew: Crew?) { self.crew.withLock { $0 = crew } }

  func start() {
    _ = startThread { self.stand() }
  }

  private func stand() {
    var last = ledger.progress
    var secondsStill = 0
    while true {
      sleep(1)
      let progress = ledger.progress
      secondsStill = progress == last ? secondsStill + 1 : 0
      last = progress
      guard secondsStill >= Self.patience else { continue }
      let beats = crew.withLock { $0?.berths.map { "\($0.thread.loop.heartbeat)" } ?? [] }
      report("soak: HANG: nothing has moved for \(Self.patience) s, seed \(seed); the loops: \(beats)")
      _exit(3)
    }
  }
}
