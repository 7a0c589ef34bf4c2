import Glibc
import Rondo
import RondoTestSupport
import Synchronization
import Testing

// The example of LimitsErrorsAndPromises.md. `print` is shadowed, so that the test can compare what the example prints.

/// The lines that an example has printed.
private final class Lines: Sendable {
  private let lines = Mutex<[String]>([])

  func add(_ line: String) { lines.withLock { $0.append(line) } }

  var all: [String] { lines.withLock { $0 } }
}

@Suite(.offThePool) struct LimitsErrorsAndPromisesTests {
  @Test func `an error, a refusal, a reason and an event name the cause`() throws {
    let lines = Lines()
    @Sendable func print(_ value: Any) { lines.add("\(value)") }
    try LoopThread(name: "errors").sync {
      let loop = Loop.current
      do {
        _ = try Loop.DescriptorSource(-1, for: .read) { _, _ in }
      } catch {
        print(error)
      }
      let timer = Loop.Timer(every: .seconds(1)) { _ in }
      timer.invalidate()
      if !loop.add(timer), let refusal = loop.refusal(of: timer) { print(refusal) }
    }
    #expect(
      lines.all == ["descriptor -1 is not open", "the item is invalid: make a new one"])
  }
}
