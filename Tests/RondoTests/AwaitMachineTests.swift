import Rondo
import Testing

/// The machines that decide who resumes a task, in every order of events.
@Suite struct AwaitMachineTests {
  private enum Event: CaseIterable {
    case begin, claim, end, cancel
  }

  /// Every sequence of `length` events.
  private func sequences<T>(of events: [T], length: Int) -> [[T]] {
    if length == 0 { return [[]] }
    return sequences(of: events, length: length - 1).flatMap { start in events.map { start + [$0] } }
  }

  @Test func `a task is resumed once, by the first end, or by a cancellation that comes before any claim`() {
    // A task begins once.
    let all = sequences(of: Event.allCases, length: 6).filter { $0.count { $0 == .begin } <= 1 }
    #expect(all.count > 1000)
    for events in all {
      var machine = SuspensionMachine<Int, Int>()
      var resumptions: [Int] = []
      var claims: [Bool] = []
      for (number, event) in events.enumerated() {
        let action: SuspensionMachine<Int, Int>.Action
        switch event {
        case .begin: action = machine.begin(7)
        case .end: action = machine.end(number)
        case .cancel: action = machine.cancel(number)
        case .claim:
          claims.append(machine.claim())
          continue
        }
        if case .resume(let waiter, let outcome) = action {
          #expect(waiter == 7)
          resumptions.append(outcome)
        }
      }
      let claim = events.firstIndex(of: .claim) ?? events.count
      let first = events.indices.first { events[$0] == .end || (events[$0] == .cancel && $0 < claim) }
      #expect(resumptions == (events.contains(.begin) ? first.map { [$0] } ?? [] : []))
      // A claim succeeds as long as nothing has ended it.
      #expect(claims == events.indices.filter { events[$0] == .claim }.map { $0 < first ?? events.count })
    }
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
          if let delivery = machine.offer([number], +) { see(delivery.answer) }
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
