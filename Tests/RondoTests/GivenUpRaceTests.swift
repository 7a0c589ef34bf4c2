import RondoTestSupport
import Testing

@testable import Rondo

/// A source that its user invalidates while its loop gives up on it: one of the two ends it.
@Suite struct GivenUpRaceTests {
  @Test func `a source is told that it was given up if it has a reason, and only then`() throws {
    var wrong = 0
    for _ in 0..<stressCount(60_000) {
      let told = Tally()
      let source = try Loop.ReportedDescriptorSource(UnconnectedSocket.shared, for: .read) { _, _ in told.add() }
      let (ready, mayGo) = (Tally(), Tally())
      let other = TestThread {
        ready.add()
        while mayGo.count == 0 {}
        source.invalidate()
      }
      while ready.count == 0 { yieldThread() }
      mayGo.add()
      source.invalidate(because: .descriptorClosed)
      other.join()
      if (told.count == 1) != (source.invalidationReason != nil) { wrong += 1 }
    }
    #expect(wrong == 0)
  }
}
