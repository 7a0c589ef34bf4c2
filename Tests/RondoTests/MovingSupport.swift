import Rondo
import RondoTesting

/// Two loops in virtual time on one thread, and one trace that says what was called on which.
final class TwoStages: @unchecked Sendable {
  let a: VirtualStage
  let b: VirtualStage
  /// How often the innocent items of each loop were called.
  let innocents = (a: Tally(), b: Tally())
  private let trace = Trace()
  private let start: SuspendingClock.Instant

  fileprivate init(_ a: VirtualStage, _ b: VirtualStage) {
    self.a = a
    self.b = b
    start = a.virtual.now
  }

  /// The loop whose callout this is: `b` never runs inside `a`'s callouts here.
  private var here: String { b.loop.currentMode != nil ? "b" : "a" }

  func note(_ name: String) { trace.note(here + name) }

  /// Notes the loop and the grid point the fire is for.
  func note(_ tick: Loop.Timer.Tick) { note("\((tick.scheduled - start).milliseconds)") }

  func take() -> String { trace.take() }

  /// Moves an item from one loop to the other, out of all its modes and into as many.
  func move(_ item: Loop.Item, _ modes: [Loop.Mode] = [.default], from old: VirtualStage, to new: VirtualStage) {
    for mode in modes { old.loop.remove(item, from: mode) }
    for mode in modes where !new.loop.add(item, to: mode) { note("refused") }
  }

  /// Puts items of every kind into both loops, so that the same slot means something else in each.
  fileprivate func addInnocents(_ count: Int) {
    for (stage, tally, extra) in [(a, innocents.a, 1), (b, innocents.b, 0)] {
      for _ in 0..<count * (1 + extra) {
        stage.descriptor("innocent", UnconnectedSocket.shared)
        stage.loop.add(Loop.Timer(every: .milliseconds(10), tolerance: .milliseconds(3)) { _ in tally.add() })
        stage.loop.add(Loop.Source { tally.add() })
        stage.loop.add(Loop.Observer(.exit, repeats: false) { _ in })
      }
    }
  }
}

/// Runs `body` with two loops that already hold `innocents` items of each kind.
@available(*, noasync)
func withTwoStages(innocents: Int = 0, _ body: (TwoStages) throws -> Void) rethrows {
  try withStage(isObserved: false) { a in
    try withStage(isObserved: false) { b in
      let stages = TwoStages(a, b)
      stages.addInnocents(innocents)
      try body(stages)
    }
  }
}

/// Who moves an item.
enum Mover: CaseIterable {
  case itself, anotherTimer, block, observer, source, nestedRun

  /// Has `move` happen in loop `a` at the 10th millisecond, from this kind of callout.
  func arrange(_ stages: TwoStages, _ move: @escaping @Sendable () -> Void) {
    let a = stages.a
    switch self {
    case .itself:
      break
    case .anotherTimer:
      a.timer("", after: .milliseconds(10), order: -1) { _ in move() }
    case .block:
      a.virtual.at(.milliseconds(10)) { a.loop.perform(move) }
    case .observer:
      a.timer("", after: .milliseconds(10), order: 1)
      a.observer(.afterWaiting) { [isDone = Later(false)] _ in
        guard a.milliseconds >= 10, !isDone.value else { return }
        isDone.value = true
        move()
      }
    case .source:
      let source = a.source("", then: move)
      a.timer("", after: .milliseconds(10), order: 1) { _ in source.signal() }
    case .nestedRun:
      a.timer("", after: .milliseconds(10), order: -1) { _ in
        a.loop.perform(in: "nested", move)
        a.loop.run(in: "nested", for: .zero)
      }
    }
  }
}
