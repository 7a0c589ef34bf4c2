extension Scenario: CustomStringConvertible {
  /// Several lines that say everything about the scenario; a failing case is printed with it.
  package var description: String {
    var lines = items.map { "item    \($0)" }
    lines += steps.map { "step    \($0)" }
    lines += scripts.map { "script  \($0)" }
    lines += helper.map { "helper  \($0.milliseconds) ms: \($0.actions.text)" }
    return lines.joined(separator: "\n")
  }
}

extension Scenario.Item: CustomStringConvertible {
  package var description: String {
    "\(name): \(kind) in \(modes.joined(separator: " "))\(announces ? " announces" : "")"
  }
}

extension Scenario.Kind: CustomStringConvertible {
  package var description: String {
    switch self {
    case .source0(let order): "source0 order \(order)"
    case .source1(let written, let order): "source1 order \(order)\(written ? " written" : "")"
    case .pipe: "pipe"
    case .timer(let milliseconds, let every, _): "timer +\(milliseconds) ms\(every > 0 ? " every \(every) ms" : "")"
    case .observer(let phases, let order, let repeats, let voice):
      "observer \(phases.token) order \(order)\(repeats ? "" : " once")\(voice == .silent ? " silent" : "")"
    }
  }
}

extension Scenario.Script: CustomStringConvertible {
  package var description: String {
    "\(name)\(phase.map { ":" + $0.token } ?? "")\(turn.map { " #\($0)" } ?? " always"): \(actions.text)"
  }
}

extension Scenario.Action: CustomStringConvertible {
  package var description: String {
    switch self {
    case .run(let mode, let milliseconds, let handled): "run(\(mode), \(milliseconds) ms\(handled ? ", one" : ""))"
    case .runForever: "runForever"
    case .signal(let name): "signal \(name)"
    case .write(let name): "write \(name)"
    case .wake: "wake"
    case .stop: "stop"
    case .requestStop(let mode): "request stop of \(mode)"
    case .block(let name, let modes): "block \(name) for \(modes.joined(separator: " "))"
    case .onMainQueue(let name): "main queue \(name)"
    case .add(let name, let mode): "add \(name) to \(mode)"
    case .remove(let name, let mode): "remove \(name) from \(mode)"
    case .invalidate(let name): "invalidate \(name)"
    case .commonMode(let mode): "make \(mode) common"
    case .setFireDate(let name, let milliseconds): "set \(name) to +\(milliseconds) ms"
    case .busyUntil(let milliseconds): "busyUntil \(milliseconds) ms"
    case .waking(let action): "waking (\(action))"
    case .hangUp(let name): "hangUp \(name)"
    case .busy(let milliseconds): "busy \(milliseconds) ms"
    case .interruptLoopThread: "SIGUSR1"
    case .probe(let probe): "probe \(probe)"
    case .elsewhere(let actions): "elsewhere [\(actions.text)]"
    case .endElsewhere: "end elsewhere"
    }
  }
}

extension [Scenario.Action] {
  fileprivate var text: String { map(\.description).joined(separator: ", ") }
}
