import RondoFoundation
import XCTest

/// In a process of its own, this one never says `RunLoop.current`.
final class MainDoorTests: XCTestCase {
  func testATimerThatIsAddedToTheMainRunLoopFiresWhileXCTestWaits() {
    let timer = expectation(description: "timer")
    RunLoop.main.add(Timer(timeInterval: 0.01, repeats: false) { _ in timer.fulfill() }, forMode: .default)
    wait(for: [timer], timeout: 30)
  }
}
