import Rondo
import XCTest

/// XCTest's own main is not async, and waits in Foundation's loop: nobody runs the main loop.
final class XCTestRunnerTests: XCTestCase {
  @MainActor func testTheMainActorStaysOnTheMainThread() async throws {
    XCTAssertTrue(Loop.main.isCurrent)
    try await Task.sleep(for: .milliseconds(1))
    XCTAssertTrue(Loop.main.isCurrent)
  }

  func testTheMainActorIsServedWhileATestAwaitsIt() async {
    let isThere = await MainActor.run { Loop.main.isCurrent }
    XCTAssertTrue(isThere)
  }

  func testTheMainActorIsServedWhileATestWaits() {
    let served = expectation(description: "served")
    Task { @MainActor in served.fulfill() }
    wait(for: [served], timeout: 600)
  }
}
