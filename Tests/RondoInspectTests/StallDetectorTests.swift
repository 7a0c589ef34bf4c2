import RondoTestSupport
import Testing

@testable import RondoInspect

@Suite(.offThePool) struct StallDetectorTests {
  private static func sight(_ callouts: UInt64, isBusy: Bool = true) -> StallDetector.Sight {
    StallDetector.Sight(callouts: callouts, phases: 1, isBusy: isBusy)
  }

  @Test func `a callout that was seen for the whole limit is stuck, and not before`() {
    var detector = StallDetector(limit: 800)
    #expect(detector.look(Self.sight(1), at: 1_000) == .none)
    #expect(detector.look(Self.sight(1), at: 1_799) == .none)
    #expect(detector.look(Self.sight(1), at: 1_800) == .limitReached(after: 800))
  }

  @Test func `a loop that goes on is never stuck`() {
    var detector = StallDetector(limit: 800)
    for look in 0..<100 {
      #expect(detector.look(Self.sight(UInt64(look)), at: Int64(look) * 790) == .none)
    }
  }

  @Test func `a loop that sleeps or is not run is not stuck`() {
    var detector = StallDetector(limit: 800)
    for look in 0..<10 {
      #expect(detector.look(Self.sight(1, isBusy: false), at: Int64(look) * 10_000) == .none)
      #expect(detector.isResting)
    }
  }

  @Test func `a stall ends once, with how long it took`() {
    var detector = StallDetector(limit: 800)
    _ = detector.look(Self.sight(1), at: 0)
    #expect(detector.look(Self.sight(1), at: 900) == .limitReached(after: 900))
    detector.confirm()
    #expect(detector.look(Self.sight(1), at: 5_000) == .none)
    #expect(detector.look(Self.sight(2), at: 6_000) == .ended(after: 6_000))
    #expect(detector.look(Self.sight(2), at: 6_100) == .none)
  }

  @Test func `a watcher that was away starts again`() {
    var detector = StallDetector(limit: 800)
    _ = detector.look(Self.sight(1), at: 0)
    detector.startAgain(at: 1_000_000)
    #expect(detector.look(Self.sight(1), at: 1_000_000) == .none)
    #expect(detector.look(Self.sight(1), at: 1_000_799) == .none)
    #expect(detector.look(Self.sight(1), at: 1_000_800) == .limitReached(after: 800))
  }

  @Test func `time that the thread waited for a processor is excused`() {
    var detector = StallDetector(limit: 800)
    _ = detector.look(Self.sight(1), at: 0)
    #expect(detector.look(Self.sight(1), at: 800) == .limitReached(after: 800))
    detector.excuse(300)
    #expect(detector.look(Self.sight(1), at: 1_000) == .none)
    #expect(detector.look(Self.sight(1), at: 1_100) == .limitReached(after: 800))
  }

  @Test func `the longest limit is never reached`() {
    var detector = StallDetector(limit: .max)
    let now = Int64(1) << 61
    _ = detector.look(Self.sight(1), at: now)
    #expect(detector.nextLook(after: now) > now)
    #expect(detector.look(Self.sight(1), at: now + 1) == .none)
  }

  @Test func `looks are due so that a stall is found an eighth of the limit late at most`() {
    for begin in stride(from: Int64(0), through: 2_000, by: 7) {
      var detector = StallDetector(limit: 800)
      var (now, found): (Int64, Int64?) = (0, nil)
      while found == nil {
        let sight = now < begin ? Self.sight(0, isBusy: false) : Self.sight(1)
        if case .limitReached = detector.look(sight, at: now) { found = now }
        now = detector.nextLook(after: now)
      }
      #expect(found! - begin >= 800)
      #expect(found! - begin <= 900)
    }
  }
}
