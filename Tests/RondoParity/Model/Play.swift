/// What happens to items in several loops of one thread, in virtual time; put to Rondo and to a model of it.
///
/// It says what CFRunLoop cannot: items that move from loop to loop, edges, interest, tolerance, equal dates.
package struct Play: Sendable, Equatable {
  package var loopCount: Int
  package var items: [Item]
  package var steps: [Deed]
  /// What callouts do: by name and turn.
  package var scripts: [Script]

  package init(loopCount: Int, items: [Item], steps: [Deed], scripts: [Script]) {
    self.loopCount = loopCount
    self.items = items
    self.steps = steps
    self.scripts = scripts
  }

  package struct Item: Sendable, Equatable {
    package var name: String
    package var kind: Kind
    package var order: Int

    package init(name: String, kind: Kind, order: Int) {
      self.name = name
      self.kind = kind
      self.order = order
    }
  }

  package enum Kind: Sendable, Equatable {
    /// Milliseconds; `every` is 0 for a one-shot.
    case timer(after: Int, every: Int, tolerance: Int)
    case source
    case descriptor(edge: Bool)
    case observer(Phases, repeats: Bool)
  }

  package struct Script: Sendable, Equatable {
    package var name: String
    package var turn: Int
    package var deeds: [Deed]

    package init(name: String, turn: Int, deeds: [Deed]) {
      self.name = name
      self.turn = turn
      self.deeds = deeds
    }
  }

  /// Loops are numbers, times are milliseconds; `C` is the set of common modes.
  package enum Deed: Sendable, Equatable {
    case add(String, loop: Int, mode: String)
    case remove(String, loop: Int, mode: String)
    /// Out of all the modes of one loop, into one of another.
    case move(String, from: Int, to: Int, mode: String)
    case invalidate(String)
    case signal(String, waking: Bool)
    case date(String, after: Int)
    case tolerance(String, Int)
    case interest(String, Bool)
    case ready(String, loop: Int)
    case common(loop: Int, mode: String)
    case block(String, loop: Int, mode: String, waking: Bool)
    case stop(Int)
    case wake(Int)
    case spend(loop: Int, Int)
    /// Does nothing if that loop is running already.
    case run(loop: Int, mode: String, Int, handled: Bool)
  }

  static let modes = ["D", "m"]
}

/// Both loops' memory of a play: the trace, and whose turn it is.
final class Prompter {
  private(set) var trace: [String] = []
  /// The loops that are running, innermost last.
  var running: [Int] = []
  private var turns: [String: Int] = [:]
  private let scripts: [Play.Script]
  /// Does a deed; how, is the loop's affair.
  var perform: (Play.Deed) -> Void = { _ in }

  init(_ scripts: [Play.Script]) { self.scripts = scripts }

  /// A callout on the innermost loop. Runs its script.
  func called(_ name: String, _ detail: String, at milliseconds: Int) {
    let loop = running.last.map { ["a", "b", "c"][$0] } ?? "?"
    trace.append("\(loop).\(name)\(detail)@\(milliseconds)")
    turns[name, default: 0] += 1
    for script in scripts where script.name == name && script.turn == turns[name] { script.deeds.forEach(perform) }
  }

  func ended(_ result: RunOutcome) {
    trace.append("-> \(result.rawValue)")
    running.removeLast()
  }
}

extension Play: CustomStringConvertible {
  package var description: String {
    var lines = ["loops   \(loopCount)"]
    lines += items.map { "item    \($0.name): \($0.kind) order \($0.order)" }
    lines += steps.map { "step    \($0)" }
    lines += scripts.map { "script  \($0.name) #\($0.turn): \($0.deeds)" }
    return lines.joined(separator: "\n")
  }

  /// Everything that is one part smaller.
  private var smaller: some Sequence<Play> {
    let steps = self.steps.indices.lazy.map { index in changed { $0.steps.remove(at: index) } }
    let scripts = self.scripts.indices.lazy.map { index in changed { $0.scripts.remove(at: index) } }
    let deeds = self.scripts.indices.lazy.flatMap { script in
      self.scripts[script].deeds.indices.lazy.map { index in changed { $0.scripts[script].deeds.remove(at: index) } }
    }
    return [AnySequence(scripts), AnySequence(steps), AnySequence(deeds)].lazy.joined()
  }

  private func changed(_ change: (inout Play) -> Void) -> Play {
    var copy = self
    change(&copy)
    return copy
  }

  /// A play from which nothing more can be left out while it `fails`.
  package func shrunk(_ fails: (Play) -> Bool) -> Play {
    var smallest = self
    while let next = smallest.smaller.first(where: fails) { smallest = next }
    return smallest
  }

  /// What the model predicts.
  package var trace: [String] { LoopModel.trace(of: self) }

  /// Both traces, if they differ.
  package var difference: String? {
    let model = LoopModel.trace(of: self)
    let rondo = PlayStage.trace(of: self)
    return model == rondo
      ? nil : "model \(model.joined(separator: " "))\nRondo \(rondo.joined(separator: " "))"
  }
}
