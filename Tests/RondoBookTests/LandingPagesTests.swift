import Rondo
import RondoTesting
import Synchronization
import Testing

// The example of RondoTesting.md. `print` is shadowed, so that the test can compare what the example prints.

/// The lines that an example has printed.
private final class Lines: Sendable {
  private let lines = Mutex<[String]>([])

  func add(_ line: String) { lines.withLock { $0.append(line) } }

  var all: [String] { lines.withLock { $0 } }
}

@Suite struct LandingPagesTests {
  @Test func `RondoTesting: three minutes`() {
    let lines = Lines()
    @Sendable func print(_ line: String) { lines.add(line) }

    withVirtualLoop { virtual in
      virtual.loop.add(Loop.Timer(every: .seconds(60)) { tick in print("\(tick.missed) missed") })
      virtual.advance(by: .seconds(180))
    }

    #expect(lines.all == ["0 missed", "0 missed", "0 missed"])
  }
}
