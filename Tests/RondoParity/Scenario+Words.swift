// The short spellings scenarios are written with, so that a row reads like the reference's row.

extension Scenario.Item {
  package static func source(_ name: String, order: Int = 0, in modes: [String] = ["m"], announces: Bool = false)
    -> Self
  {
    Self(name: name, kind: .source0(order: order), modes: modes, announces: announces)
  }
  /// A source0 that is never signalled: it makes modes non-empty.
  package static func keep(_ modes: String...) -> Self {
    Self(name: "K", kind: .source0(order: 0), modes: modes.isEmpty ? ["m"] : modes)
  }
  package static func port(_ name: String, written: Bool = false, order: Int = 0, in modes: [String] = ["m"]) -> Self {
    Self(name: name, kind: .source1(written: written, order: order), modes: modes)
  }
  package static func timer(
    _ name: String, _ milliseconds: Double, every: Double = 0, order: Int = 0, in modes: [String] = ["m"]
  ) -> Self {
    Self(name: name, kind: .timer(milliseconds: milliseconds, every: every, order: order), modes: modes)
  }
  static func keepIn(_ name: String, _ mode: String) -> Self { .source(name, in: [mode]) }

  /// The observer of all phases that draws a trace's skeleton.
  package static func phases(_ modes: String...) -> Self {
    let voice = Scenario.Kind.observer(.all, order: 0, repeats: true, voice: .phase)
    return Self(name: "o", kind: voice, modes: modes.isEmpty ? ["m"] : modes)
  }
  package static func observer(
    _ name: String, _ phases: Phases, order: Int = 0, repeats: Bool = true, in modes: [String] = ["m"]
  ) -> Self {
    Self(name: name, kind: .observer(phases, order: order, repeats: repeats, voice: .named), modes: modes)
  }
  package static func silent(_ name: String, _ phases: Phases, order: Int = 0, in modes: [String] = ["m"]) -> Self {
    Self(name: name, kind: .observer(phases, order: order, repeats: true, voice: .silent), modes: modes)
  }
}

extension Scenario.Script {
  package static func callout(
    _ name: String, _ phase: Phases? = nil, _ turn: Int? = nil, _ actions: Scenario.Action...
  ) -> Self {
    Self(name: name, phase: phase, turn: turn, actions: actions)
  }
}

extension Scenario.Timed {
  package static func at(_ milliseconds: Double, _ actions: Scenario.Action...) -> Self {
    Self(milliseconds: milliseconds, actions: actions)
  }
}

extension Scenario.Action {
  package static func run(_ mode: String, _ milliseconds: Double) -> Self {
    .run(mode, milliseconds: milliseconds, handled: false)
  }
  /// A run that returns after it handled a source.
  package static func runOne(_ mode: String, _ milliseconds: Double) -> Self {
    .run(mode, milliseconds: milliseconds, handled: true)
  }
  package static func block(_ name: String, _ modes: String...) -> Self {
    .block(name, modes: modes.isEmpty ? ["m"] : modes)
  }
}
