import Rondo
import RondoTestSupport
import Testing

/// Every interleaving of one loop and its posters, step by atomic step.
@Suite struct WakeProtocolTests {
  /// What an exploration found.
  private struct Exploration {
    var states = 0
    var restingStates = 0
    var faults: Set<String> = []
  }

  /// Visits every state that can be reached from `start`.
  private func explore(_ start: WakeModel) -> Exploration {
    var found = Exploration()
    var seen: Set<Int> = [start.number]
    var frontier = [start]
    while let state = frontier.popLast() {
      found.states += 1
      let successors = state.successors()
      // A state at rest: only the loop's own timers could still move it, and nothing may depend on those.
      let isAtRest = state.posters.allSatisfy { $0.step == .done } && !state.hasEdge && state.loop == .inKernel
      if successors.isEmpty || isAtRest {
        found.restingStates += 1
        if let fault = state.restFault { found.faults.insert(fault) }
      }
      for (next, fault) in successors {
        if let fault {
          found.faults.insert(fault)
        } else if seen.insert(next.number).inserted {
          frontier.append(next)
        }
      }
    }
    return found
  }

  /// Every choice of one post for each of `count` posters, order aside.
  private func choices(_ count: Int) -> [[WakeModel.Post]] {
    let all = WakeModel.Post.allCases
    guard count > 1 else { return all.map { [$0] } }
    return choices(count - 1).flatMap { rest in
      all.filter { all.firstIndex(of: $0)! >= all.firstIndex(of: rest.last!)! }.map { rest + [$0] }
    }
  }

  @Test(arguments: [false, true])
  func `no interleaving of three posters loses a wakeup or writes twice`(mayWakeByItself: Bool) {
    for posts in choices(3) {
      let found = explore(WakeModel(posts.map { [$0] }, mayWakeByItself: mayWakeByItself))
      #expect(found.faults == [], "\(posts)")
      #expect(found.restingStates > 0)
    }
  }

  @Test(.enabled(if: isWhole))
  func `no interleaving of two posters that post twice loses a wakeup or writes twice`() {
    let pairs = choices(2)
    for (place, first) in pairs.enumerated() {
      for second in pairs[place...] {
        let found = explore(WakeModel([first, second], mayWakeByItself: true))
        #expect(found.faults == [], "\(first) beside \(second)")
      }
    }
  }

  @Test func `closing never overtakes a poster that is about to write, and always completes`() {
    for posts in choices(3) {
      let found = explore(WakeModel(posts.map { [$0] }, mayClose: true, mayWakeByItself: true))
      #expect(found.faults == [], "\(posts)")
    }
  }

  @Test(arguments: WakeModel.Flaw.allCases.filter { $0 != .none })
  func `the exploration finds a machine that was broken on purpose`(flaw: WakeModel.Flaw) {
    let start = WakeModel(
      [[.block], [.wakeUp], [.stop]], mayClose: flaw == .closeDoesNotWait, mayWakeByItself: flaw == .closeDoesNotWait,
      flaw: flaw)
    #expect(explore(start).faults != [])
  }

  @Test func `a wakeup of a loop that is awake costs no write and keeps it from sleeping`() {
    var machine = WakeProtocol()
    #expect(machine.post(.wake) == .nothing)
    #expect(machine.prepareToSleep() == .stayAwake)
    #expect(machine.take(.wake) == .wake)
    #expect(machine.prepareToSleep() == .sleep)
    #expect(machine.post(.wake) == .write)
    #expect(machine.post(.wake) == .nothing)
    machine.woke()
    #expect(machine.hasWriters)
    machine.wrote()
    #expect(!machine.hasWriters)
  }

  @Test func `a post that wakes nobody leaves a sleeping loop asleep`() {
    var machine = WakeProtocol()
    #expect(machine.prepareToSleep() == .sleep)
    #expect(machine.post(.mail) == .nothing)
    #expect(machine.hasAny(.asleep))
  }

  @Test func `what a guest's own thread changes takes the announcement of sleep back, and owes one write`() {
    var machine = WakeProtocol()
    #expect(machine.cancelSleep() == .nothing)
    #expect(machine.prepareToSleepOutside() == .sleep)
    #expect(machine.hasAny(.outside))
    #expect(machine.cancelSleep() == .write)
    #expect(machine.cancelSleep() == .nothing)
    // The descriptor tells already, so a poster need not.
    #expect(machine.post(.wake) == .nothing)
    #expect(machine.woke(taking: [.outside, .wake]) == [.outside, .wake])
    #expect(!machine.hasAny(.outside))
    #expect(!machine.hasWriters)
  }

  @Test func `a guest with something posted does not go to sleep, and one that leaves work is awake at its host`() {
    var machine = WakeProtocol()
    #expect(machine.post(.wake) == .nothing)
    #expect(machine.prepareToSleepOutside() == .stayAwake)
    #expect(!machine.hasAny(.outside))
    machine.leave()
    #expect(machine.hasAny(.outside))
    #expect(machine.post([.mail, .wake]) == .nothing)
  }

  @Test func `a closed loop refuses every post`() {
    var machine = WakeProtocol()
    machine.close()
    #expect(machine.post([.mail, .wake]) == .refused)
    #expect(machine.post(.requestStop) == .refused)
  }
}

extension WakeProtocol.Bits {
  fileprivate static let requestStop: WakeProtocol.Bits = [.stopRequest, .wake]
}
