import Foundation
import Rondo
import RondoFoundation
import XCTest

/// XCTest waits by running Foundation's loop on the main thread; Rondo's items are served meanwhile.
final class WaitingTests: XCTestCase {
  func testTheNamesAreRondosInEveryFile() {
    XCTAssert(RunLoop.self == RondoFoundation.RunLoop.self)
    XCTAssert(Timer.self == RondoFoundation.Timer.self)
    XCTAssert(NotificationQueue.self == RondoFoundation.NotificationQueue.self)
    XCTAssert(Port.self == RondoFoundation.Port.self && SocketPort.self == RondoFoundation.SocketPort.self)
    XCTAssert(PortMessage.self == RondoFoundation.PortMessage.self)
    XCTAssert(PortDelegate.self == RondoFoundation.PortDelegate.self)
  }

  func testWaitForExpectationsServesTimersAndPerforms() {
    let timer = expectation(description: "timer")
    let perform = expectation(description: "perform")
    let source = expectation(description: "source")
    Timer.scheduledTimer(withTimeInterval: 0.01, repeats: false) { _ in timer.fulfill() }
    RunLoop.current.perform { perform.fulfill() }
    let signalled = Loop.Source { source.fulfill() }
    RunLoop.current.add(signalled, forMode: .default)
    DispatchQueue.global().async { signalled.signal() }
    waitForExpectations(timeout: 30)
    signalled.invalidate()
    XCTAssertEqual(RunLoop.current.foundationStatus, .serving)
  }

  func testAWaitThatBeginsBeforeAnythingIsPostedFromElsewhere() {
    let perform = expectation(description: "perform")
    let queue = expectation(description: "notification")
    let name = Notification.Name("waiting")
    let token = NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { _ in queue.fulfill() }
    DispatchQueue.global().asyncAfter(deadline: .now() + 0.02) {
      RunLoop.main.perform {
        NotificationQueue.default.enqueue(Notification(name: name), postingStyle: .whenIdle)
        perform.fulfill()
      }
    }
    wait(for: [perform, queue], timeout: 30)
    NotificationCenter.default.removeObserver(token)
  }

  func testFulfillmentServesTheMainThread() async {
    let perform = expectation(description: "perform")
    let timer = expectation(description: "timer")
    RunLoop.main.perform {
      Timer.scheduledTimer(withTimeInterval: 0.01, repeats: false) { _ in timer.fulfill() }
      perform.fulfill()
    }
    await fulfillment(of: [perform, timer], timeout: 30)
  }
}
