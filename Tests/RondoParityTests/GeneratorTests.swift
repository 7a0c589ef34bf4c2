internal import RondoParity
internal import Testing

@Suite struct GeneratorTests {
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
    }
    let wanted: Set = [
      "run", "signal", "write", "wake", "stop", "block", "add", "remove", "invalidate", "make", "set", "nested",
      "helper",
    ]
    #expect(seen.isSuperset(of: wanted))
  }
}

@Suite struct ShrinkerTests {
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
