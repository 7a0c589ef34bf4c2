import Testing

@testable import Rondo

/// Every interleaving of a loop's sleeps with dates, posts, looks, switches of mode and a host.
@Suite struct SleepModelTests {
  /// What can go wrong from `start` on, and how many states there are.
  private func explore(_ start: SleepModel) -> (faults: Set<String>, states: Int) {
    var faults: Set<String> = []
    var seen: Set<SleepModel> = [start]
    var frontier = [start]
    while let state = frontier.popLast() {
      if let fault = state.fault { faults.insert(fault) }
      for next in state.successors() where seen.insert(next).inserted { frontier.append(next) }
    }
    return (faults, seen.count)
  }

  private static let dates: [[Int?]] = [[1, nil], [2, 1], [1, 1], [nil, 2]]
  private static let posts: [[WakeProtocol.Bits]] = [[], [[.mail, .wake]], [.stopRequest, [.signals, .wake]]]

  @Test(arguments: dates, [false, true])
  func `no order of edges, posts, looks and modes loses a date or a wakeup`(dates: [Int?], isHosted: Bool) {
    for posts in Self.posts {
      let found = explore(SleepModel(dates: dates, posts: posts, isHosted: isHosted))
      #expect(found.faults == [], "\(posts)")
      #expect(found.states > 100)
    }
  }

  @Test(arguments: SleepModel.Flaw.allCases.filter { $0 != .none })
  func `the exploration finds a sleep that was broken on purpose`(flaw: SleepModel.Flaw) {
    #expect(explore(SleepModel(dates: [2, 1], posts: [.wake], flaw: flaw)).faults != [])
  }
}
