import Foundation
import Rondo
import RondoFoundation
import XCTest

/// XCTest waits by running Foundation's loop on the main thread; Rondo's items are served in that run.
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
    DispatchQueue.global().asyncAfter(deadline: .now() + 0.02) {
      RunLoop.main.perform { perform.fulfill() }
    }
    wait(for: [perform], timeout: 30)
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

  func testANotificationForAnIdleLoopIsPosted() {
    let idle = Notification.Name("idle")
    let posted = expectation(description: "posted")
    let observer = NotificationCenter.default.addObserver(forName: idle, object: self, queue: nil) { _ in
      posted.fulfill()
    }
    NotificationQueue.default.enqueue(Notification(name: idle, object: self), postingStyle: .whenIdle)
    // Nothing else comes.
    wait(for: [posted], timeout: 30)
    NotificationCenter.default.removeObserver(observer)
  }

  func testObserversAreToldOfEachSleepOnce() {
    let over = expectation(description: "over")
    nonisolated(unsafe) var told: [String] = []
    let observer = Loop.Observer([.beforeWaiting, .afterWaiting]) { activity in
      told.append(activity == .beforeWaiting ? "before" : "after")
    }
    Loop.main.add(observer, to: .default)
    for number in 1...3 {
      Timer.scheduledTimer(withTimeInterval: 0.01 * Double(number), repeats: false) { _ in
        told.append("timer")
        if number == 3 { over.fulfill() }
      }
    }
    wait(for: [over], timeout: 30)
    observer.invalidate()
    // A slow machine finds several timers due at once.
    let sleeps = told.split(separator: "timer").map(Array.init)
    XCTAssertEqual(sleeps, Array(repeating: ["before", "after"], count: sleeps.count))
    XCTAssert(1...3 ~= sleeps.count)
  }
}
