/// Makes a failing scenario small by leaving things out for as long as it still fails.
package struct Shrinker {
  /// Whether a scenario is one the generator could have made; a smaller one outside says nothing.
  private let allows: (Scenario) -> Bool
  /// Whether the scenario still shows what is being looked for.
  private let fails: (Scenario) -> Bool

  package init(allows: @escaping (Scenario) -> Bool = Generator.allows, fails: @escaping (Scenario) -> Bool) {
    self.allows = allows
    self.fails = fails
  }

  /// A scenario from which nothing more can be left out; the scenario itself when it does not fail.
  package func shrink(_ scenario: Scenario) -> Scenario {
    var smallest = scenario
    while let smaller = candidates(smallest).first(where: { allows($0) && fails($0) }) { smallest = smaller }
    return smallest
  }

  /// Everything that is one step smaller, boldest steps first.
  private func candidates(_ scenario: Scenario) -> some Sequence<Scenario> {
    let items = scenario.items.lazy.map { scenario.without(item: $0.name) }
    let scripts = scenario.scripts.indices.lazy.map { index in scenario.changed { $0.scripts.remove(at: index) } }
    let helper = scenario.helper.indices.lazy.map { index in scenario.changed { $0.helper.remove(at: index) } }
    let steps = scenario.steps.indices.lazy.map { index in scenario.changed { $0.steps.remove(at: index) } }
    let actions = scenario.scripts.indices.lazy.filter { scenario.scripts[$0].actions.count > 1 }.flatMap { script in
      scenario.scripts[script].actions.indices.lazy.map { index in
        scenario.changed { $0.scripts[script].actions.remove(at: index) }
      }
    }
    let modes = scenario.items.indices.lazy.filter { scenario.items[$0].modes.count > 1 }.flatMap { item in
      scenario.items[item].modes.indices.lazy.map { index in
        scenario.changed { $0.items[item].modes.remove(at: index) }
      }
    }
    return [
      AnySequence(items), AnySequence(scripts), AnySequence(helper), AnySequence(steps), AnySequence(actions),
      AnySequence(modes),
    ].lazy.joined()
  }
}

extension Scenario {
  /// The number of parts a shrinker can leave out.
  package var size: Int {
    items.count + steps.count + scripts.reduce(0) { $0 + 1 + $1.actions.count } + helper.count
  }

  fileprivate func changed(_ change: (inout Scenario) -> Void) -> Scenario {
    var copy = self
    change(&copy)
    return copy
  }

  /// Without the item and everything that names it.
  fileprivate func without(item name: String) -> Scenario {
    changed { scenario in
      scenario.items.removeAll { $0.name == name }
      scenario.steps.removeAll { $0.names(name) }
      scenario.scripts.removeAll { $0.name == name }
      for index in scenario.scripts.indices { scenario.scripts[index].actions.removeAll { $0.names(name) } }
      for index in scenario.helper.indices { scenario.helper[index].actions.removeAll { $0.names(name) } }
      scenario.scripts.removeAll { $0.actions.isEmpty }
      scenario.helper.removeAll { $0.actions.isEmpty }
    }
  }
}

extension Scenario.Action {
  /// Whether the action needs the item to exist.
  fileprivate func names(_ name: String) -> Bool {
    switch self {
    case .signal(let item), .write(let item), .add(let item, _), .remove(let item, _), .invalidate(let item),
      .setFireDate(let item, _), .hangUp(let item):
      item == name
    case .probe(.contains(let item, _)), .probe(.valid(let item)), .probe(.signalled(let item)): item == name
    case .waking(let action): action.names(name)
    case .elsewhere(let actions): actions.contains { $0.names(name) }
    default: false
    }
  }
}
