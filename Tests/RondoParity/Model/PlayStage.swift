internal import CLinux
internal import Glibc
internal import Rondo
internal import RondoTesting

/// Rondo's side of a play.
final class PlayStage {
  private let loops: [VirtualLoop]
  private var items: [String: Loop.Item] = [:]
  private let prompter: Prompter
  private let start: SuspendingClock.Instant

  static func trace(of play: Play) -> [String] {
    withLoops(play.loopCount, []) { loops in
      let stage = PlayStage(play, loops)
      play.steps.forEach(stage.perform)
      let trace = stage.prompter.trace
      stage.prompter.perform = { _ in }
      return trace
    }
  }

  private static func withLoops(_ count: Int, _ made: [VirtualLoop], _ body: ([VirtualLoop]) -> [String]) -> [String] {
    if count == 0 { return body(made) }
    return withVirtualLoop { withLoops(count - 1, made + [$0], body) }
  }

  private init(_ play: Play, _ loops: [VirtualLoop]) {
    self.loops = loops
    for loop in loops { loop.loop.checksInvariants = true }
    start = loops[0].now
    prompter = Prompter(play.scripts)
    prompter.perform = { [unowned self] in perform($0) }
    for item in play.items { items[item.name] = make(item) }
  }

  private func milliseconds(_ instant: SuspendingClock.Instant) -> Int { Int((instant - start) / .milliseconds(1)) }

  /// The descriptor whose readiness the script tells; nobody reads it.
  private static let descriptor = eventfd(0, CInt(EFD_NONBLOCK | EFD_CLOEXEC))

  private func make(_ item: Play.Item) -> Loop.Item {
    let (name, order) = (item.name, item.order)
    nonisolated(unsafe) let stage = self
    let called: @Sendable (String) -> Void = { detail in
      let loop = unsafe stage.loops[stage.prompter.running.last!]
      unsafe stage.prompter.called(name, detail, at: stage.milliseconds(loop.now))
    }
    switch item.kind {
    case .timer(let after, let every, let tolerance):
      let interval: Duration? = every > 0 ? .milliseconds(every) : nil
      return Loop.Timer(
        at: start + .milliseconds(after), every: interval, tolerance: .milliseconds(tolerance), order: order
      ) { tick in
        called(":\(unsafe stage.milliseconds(tick.scheduled))\(tick.missed > 0 ? "+\(tick.missed)" : "")")
      }
    case .source: return Loop.Source(order: order) { called("") }
    case .descriptor(let isEdge):
      return try! Loop.DescriptorSource(Self.descriptor, for: .read, trigger: isEdge ? .edge : .level, order: order) {
        _, _ in called("")
      }
    case .observer(let phases, let repeats):
      return Loop.Observer(Loop.Activity(rawValue: UInt32(phases.rawValue)), repeats: repeats, order: order) {
        called(":\(Phases(rawValue: UInt($0.rawValue)).token)")
      }
    }
  }

  private static func mode(_ name: String) -> Loop.Mode {
    name == "D" ? .default : name == "C" ? .common : Loop.Mode(rawValue: name)
  }

  private func item<T: Loop.Item>(_ name: String) -> T { items[name] as! T }

  private func perform(_ deed: Play.Deed) {
    switch deed {
    case .add(let name, let loop, let mode): loops[loop].loop.add(item(name), to: Self.mode(mode))
    case .remove(let name, let loop, let mode): loops[loop].loop.remove(item(name), from: Self.mode(mode))
    case .move(let name, let old, let new, let mode):
      for mode in ["C"] + Play.modes { loops[old].loop.remove(item(name), from: Self.mode(mode)) }
      loops[new].loop.add(item(name), to: Self.mode(mode))
    case .invalidate(let name): items[name]!.invalidate()
    case .signal(let name, let waking): (item(name) as Loop.Source).signal(waking: waking)
    case .date(let name, let after): (item(name) as Loop.Timer).setFireDate(after: .milliseconds(after))
    case .tolerance(let name, let tolerance): (item(name) as Loop.Timer).tolerance = .milliseconds(tolerance)
    case .interest(let name, let isInterested):
      let source: Loop.DescriptorSource = item(name)
      if isInterested { source.enable(.read) } else { source.disable(.read) }
    case .ready(let name, let loop): loops[loop].makeReady(item(name), .read)
    case .common(let loop, let mode): loops[loop].loop.addCommonMode(Self.mode(mode))
    case .block(let name, let loop, let mode, let waking):
      nonisolated(unsafe) let stage = self
      loops[loop].loop.perform(in: Self.mode(mode), waking: waking) {
        unsafe stage.prompter.called(name, "", at: stage.milliseconds(stage.loops[loop].now))
      }
    case .stop(let loop): loops[loop].loop.stop()
    case .wake(let loop): loops[loop].loop.wakeUp()
    case .spend(let loop, let time): loops[loop].spend(.milliseconds(time))
    case .run(let loop, let mode, let time, let handled):
      guard !prompter.running.contains(loop) else { return }
      prompter.running.append(loop)
      let result = loops[loop].loop.run(
        in: Self.mode(mode), for: .milliseconds(time), returnAfterSourceHandled: handled)
      prompter.ended(RunOutcome(result))
    }
  }
}

extension RunOutcome {
  init(_ result: Loop.RunResult) {
    self =
      switch result {
      case .finished: .finished
      case .stopped: .stopped
      case .timedOut: .timedOut
      case .handledSource: .handledSource
      }
  }
}
