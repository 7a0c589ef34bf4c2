internal import RondoTestSupport
internal import Testing
internal import rondo_parity

@Suite(.offThePool) struct GeneratorTests {
  @Test func sameSeedSameScenarios() {
    for number in 0..<200 {
      #expect(Generator.scenario(seed: 7, number: number) == Generator.scenario(seed: 7, number: number))
    }
  }

  @Test func seedsNumbersAndAttemptsDiffer() {
    let scenario = Generator.scenario(seed: 7, number: 1)
    #expect(scenario != Generator.scenario(seed: 8, number: 1))
    #expect(scenario != Generator.scenario(seed: 7, number: 2))
    #expect(scenario != Generator.scenario(seed: 7, number: 1, attempt: 1))
  }

  /// A generator that never does something proves nothing about it.
  @Test func everythingOccurs() {
    var seen: Set<String> = []
    for number in 0..<3000 {
      let scenario = Generator.scenario(seed: 3, number: number)
      let scripted = scenario.scripts.flatMap(\.actions)
      for action in scenario.steps + scripted + scenario.helper.flatMap(\.actions) {
        seen.insert(String(action.description.prefix { $0 != " " && $0 != "(" }))
      }
      if scripted.contains(where: { if case .run = $0 { true } else { false } }) { seen.insert("nested") }
      if !scenario.helper.isEmpty { seen.insert("helper") }
      for item in scenario.items where item.announces { seen.insert("announces") }
      for script in scenario.scripts where script.name.hasPrefix("-") { seen.insert("on cancel") }
    }
    let wanted: Set = [
      "run", "signal", "write", "wake", "stop", "block", "add", "remove", "invalidate", "make", "set", "nested",
      "helper", "announces", "on cancel", "waking", "busyUntil", "request", "elsewhere", "hangUp", "probe",
    ]
    #expect(seen.isSuperset(of: wanted))
  }

  /// Two events of one instant come in the order in which the machine happens to run two threads.
  @Test func noHelperActsWhenATimerIsDue() {
    var pairs = 0
    for number in 0..<3000 {
      let scenario = Generator.scenario(seed: 3, number: number)
      for item in scenario.items {
        guard case .timer(let first, let interval, _) = item.kind else { continue }
        for instant in scenario.helper.map(\.milliseconds) {
          let since = instant - first
          let isDue = since == 0 || (interval > 0 && since > 0 && since.truncatingRemainder(dividingBy: interval) == 0)
          #expect(!isDue, "\(scenario)")
          pairs += 1
        }
      }
    }
    #expect(pairs > 100)
  }
}

@Suite(.offThePool) struct PlayTests {
  /// Virtual time: some 10,000 plays a second.
  @Test func rondoDoesWhatTheModelSays() {
    for number in 0..<3_000 {
      let play = PlayGenerator.play(seed: 20_261_122, number: number)
      guard play.difference != nil else { continue }
      let smallest = play.shrunk { $0.difference != nil }
      Issue.record("\(smallest)\n\(smallest.difference!)")
      return
    }
  }

  @Test func sameSeedSamePlays() {
    #expect(PlayGenerator.play(seed: 7, number: 3) == PlayGenerator.play(seed: 7, number: 3))
    #expect(PlayGenerator.play(seed: 7, number: 3) != PlayGenerator.play(seed: 8, number: 3))
  }

  /// What a model predicts is worth something only if the plays get there: each kind is called, some after a move.
  @Test func everyKindIsCalledAndMoved() {
    var called: Set<Character> = []
    var moved: Set<Character> = []
    for number in 0..<4_000 where moved.count < 4 {
      let play = PlayGenerator.play(seed: 3, number: number)
      let trace = play.trace
      for item in play.items {
        let places = Set(trace.filter { $0.dropFirst(2).prefix { $0 != ":" && $0 != "@" } == item.name }.map(\.first!))
        if let letter = item.name.first, !places.isEmpty {
          called.insert(letter)
          if places.count > 1 { moved.insert(letter) }
        }
      }
    }
    #expect(called == ["t", "s", "d", "w"])
    #expect(moved == called)
  }

  /// A move in its own callout: the rest of the grid is the other loop's, a one-shot is over.
  @Test func timerMovesInItsCallout() {
    for (every, trace) in [
      (10, ["a.t:5@5", "-> Finished", "b.t:15@15", "b.t:25@25", "-> TimedOut"]),
      (0, ["a.t:5@5", "-> Finished", "-> Finished"]),
    ] {
      let play = Play(
        loopCount: 2, items: [.init(name: "t", kind: .timer(after: 5, every: every, tolerance: 0), order: 0)],
        steps: [
          .add("t", loop: 0, mode: "D"), .run(loop: 0, mode: "D", 9, handled: false),
          .run(loop: 1, mode: "D", 30, handled: false),
        ], scripts: [.init(name: "t", turn: 1, deeds: [.move("t", from: 0, to: 1, mode: "D")])])
      #expect(play.trace == trace)
      #expect(play.difference == nil)
    }
  }
}

@Suite(.offThePool) struct ShrinkerTests {
  /// The cause is one action of one script; everything else goes.
  @Test func leavesOnlyTheCause() {
    var scenario = Generator.scenario(seed: 5, number: 5)
    scenario.scripts.append(.callout("t", nil, 1, .wake, .stop, .signal("s0")))
    let shrinker = Shrinker.unbounded { candidate in
      candidate.scripts.contains { $0.name == "t" && $0.actions.contains(.stop) }
    }
    let smallest = shrinker.shrink(scenario)
    #expect(smallest.items.isEmpty)
    #expect(smallest.steps.isEmpty)
    #expect(smallest.helper.isEmpty)
    #expect(smallest.scripts == [.callout("t", nil, 1, .stop)])
  }

  @Test func keepsWhatDoesNotFail() {
    let scenario = Generator.scenario(seed: 5, number: 6)
    #expect(Shrinker { _ in false }.shrink(scenario) == scenario)
  }

  /// On a real trace: what makes CFRunLoop show `s0` is its signal and the run.
  @Test func shrinksAgainstARealLoop() {
    let scenario = Scenario(
      [.phases(), .keep(), .source("s0"), .source("s1")],
      [.signal("s1"), .signal("s0"), .run("m", 0), .run("m", 0)])
    let shrinker = Shrinker.unbounded { Execution.run($0, on: .cf).tokens.contains("s0") }
    #expect(shrinker.shrink(scenario) == Scenario([.source("s0")], [.signal("s0"), .run("m", 0)]))
  }
}

extension Shrinker {
  /// One that may leave the generator's domain: these scenarios are not compared.
  fileprivate static func unbounded(_ fails: @escaping (Scenario) -> Bool) -> Shrinker {
    Shrinker(allows: { _ in true }, fails: fails)
  }
}
