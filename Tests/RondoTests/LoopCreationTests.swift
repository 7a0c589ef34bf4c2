import RondoTestSupport
import Testing

@testable import Rondo

/// The hook that is called with each loop that is made.
@Suite struct LoopCreationTests {
  @Test(.offThePool) func `the hook may ask for the thread's loop, and gets the loop that it is called with`() async {
    await #expect(processExitsWith: .success) { Creation.run() }
  }
}

/// What the exit test does.
private enum Creation {
  static func run() {
    endProcess(after: 60)
    let isSame = Later(false)
    LoopCreationHook.set { loop in isSame.value = Loop.current === loop }
    _ = Loop.current
    precondition(isSame.value)
  }
}
