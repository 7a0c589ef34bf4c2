import Rondo
import RondoAsync
import Testing

/// The machine between a loop and the task that takes what it gives, in every order of events.
@Suite struct FeedMachineTests {
  /// Every sequence of `length` events.
  private func sequences<T>(of events: [T], length: Int) -> [[T]] {
    if length == 0 { return [[]] }
    return sequences(of: events, length: length - 1).flatMap { start in events.map { start + [$0] } }
  }

  private enum FeedEvent: CaseIterable {
    case offer, next, end, cancel
  }

  @Test func `a feed gives everything once, in order, merged while nobody waits, and then the end`() {
    for events in sequences(of: FeedEvent.allCases, length: 7) {
      var machine = FeedMachine<Int, [Int], TestFailure>()
      // What the feed shall do, told without waiting and handing over.
      var pending: [Int] = []
      var isWaiting = false
      var ended = false
      var hasFailed = false
      var expected: [String] = []
      var seen: [String] = []
      func see(_ answer: FeedMachine<Int, [Int], TestFailure>.Answer) {
        switch answer {
        case .success(let element): seen.append(element.map { "\($0)" } ?? "end")
        case .failure: seen.append("failure")
        }
      }
      func expectNext() {
        if !pending.isEmpty {
          expected.append("\(pending)")
          pending = []
        } else if hasFailed {
          expected.append("failure")
          hasFailed = false
        } else if ended {
          expected.append("end")
        } else {
          isWaiting = true
          return
        }
        isWaiting = false
      }
      for (number, event) in events.enumerated() {
        switch event {
        case .offer:
          if let delivery = machine.offer([number], { kept, new in kept = [Array(kept.joined()) + new] }) {
            see(delivery.answer)
          }
          if !ended { pending.append(number) }
        case .next:
          // One task, which does not ask while it waits.
          if isWaiting { continue }
          if let answer = machine.wait(1) { see(answer) }
          isWaiting = true
        case .end:
          if let delivery = machine.end(TestFailure()) { see(delivery.answer) }
          if !ended { hasFailed = true }
          ended = true
        case .cancel:
          if let delivery = machine.cancel() { see(delivery.answer) }
          (pending, hasFailed, ended) = ([], false, true)
        }
        if isWaiting { expectNext() }
      }
      #expect(seen == expected, "\(events)")
    }
  }
}

private struct TestFailure: Error {}
