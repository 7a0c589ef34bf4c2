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
}
