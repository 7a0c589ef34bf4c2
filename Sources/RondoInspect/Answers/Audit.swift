import Rondo
import Synchronization

extension LoopInsight {
  /// Returns a sentence for each problem of the loop. On the loop's thread, otherwise traps.
  ///
  /// Examples are an item in a mode that was never run, a needless wakeup, and a long queue. It judges wakeups by the
  /// last turns. If there is no problem, the result is empty.
  public func audit() -> [String] {
    require(loop.isCurrent, "A loop is audited on its own thread. Use loop.perform { }.")
    return Audit.findings(loop, loop.inventory, recorder)
  }
}

/// Judges what is in a loop.
enum Audit {
  /// A timer that repeats more often than that a second should say how much later it may be.
  private static let leastInterval: Int64 = 10_000_000
  /// So much work in a queue is more than a turn can do.
  private static let longQueue = 1_000
  /// Of the last turns, so many needless wakeups are worth a word.
  private static let manyWakeups = 16

  static func findings(_ loop: Loop, _ inventory: Loop.Inventory, _ recorder: Recorder) -> [String] {
    var findings: [String] = []
    let known = Set(inventory.modes.filter(\.wasRun).map(\.name))
    for item in inventory.items {
      let name = "\(Names.text(ofKind: UInt64(item.kind.rawValue))) \(Names.text(of: item.label, isBrief: true))"
      let modes = item.modes.joined(separator: ", ")
      if !item.modes.isEmpty, known.isDisjoint(with: item.modes) {
        findings.append("\(name) was never served: it is in \(modes), which nobody has run.")
      }
      if item.isSignalled, known.isDisjoint(with: item.modes) {
        findings.append("\(name) was signalled and not performed: it is in \(modes), which nobody runs.")
      }
      if item.kind == .timer, item.interval > 0, item.interval < leastInterval, item.tolerance == 0, !item.isPrecise {
        findings.append(
          "\(name) fires \(1_000_000_000 / item.interval) times a second without a tolerance: each may be a wakeup of its own."
        )
      }
    }
    let mailed = loop.mailed
    if mailed.blocks + inventory.blocks > longQueue {
      findings.append(
        "\(mailed.blocks + inventory.blocks) blocks wait: more is posted than the loop gets done, or for a mode that it does not run."
      )
    }
    if mailed.jobs + inventory.jobs > longQueue {
      findings.append(
        "\(mailed.jobs + inventory.jobs) jobs wait: actors and tasks have more to do than the loop gets done.")
    }
    for savable in WakeupSummary.savable(recorder.wakeups) where savable.count >= manyWakeups {
      findings.append(
        "timer \(savable.name) woke the loop \(savable.count) times shortly before something else did: a tolerance of \(savable.tolerance) saves that."
      )
    }
    return findings
  }
}
