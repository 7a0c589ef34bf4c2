import RondoTestSupport
import Testing

@testable import Rondo

/// Who is told of every loop that is made.
@Suite struct LoopAttendantTests {
  @Test(.offThePool) func `an attendant may ask for the thread's loop, and gets the one that it is told of`() async {
    await #expect(processExitsWith: .success) { Attending.run() }
  }
}

/// What the exit test does.
private enum Attending {
  static func run() {
    endProcess(after: 60)
    let isSame = Later(false)
    LoopAttendants.set { loop in isSame.value = Loop.current === loop }
    _ = Loop.current
    precondition(isSame.value)
  }
}
