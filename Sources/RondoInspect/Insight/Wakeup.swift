internal import CLinux
internal import CRondoInspect
internal import Rondo

/// A turn in which a loop woke or called an item.
public struct Wakeup: Sendable {
  /// The number of the turn among all turns of the loop.
  public let turn: UInt64
  /// The time of the wakeup, in nanoseconds of CLOCK_MONOTONIC; nil without a sleep.
  public let time: Int64?
  /// The length of the sleep; nil without a sleep.
  public let asleep: Duration?
  /// The cause of the wakeup: "descriptor", "main queue", "post", "timer", "timeout" or "none".
  ///
  /// "timeout" is the end of the run's time, and "none" a turn without a sleep.
  public let reason: String
  /// The kind of the first called item other than observers; nil without one.
  public let kind: String?
  /// The name of the first called item other than observers; nil without one.
  public let name: String?
  /// The number of callouts of the turn.
  public let callouts: Int
  /// Of a timer, in nanoseconds.
  let interval: Int64?

  init(_ turn: rondo_turn, name: (UInt64) -> String) {
    self.turn = turn.number
    let slept = turn.asleep >= 0
    time = slept ? turn.woke : nil
    asleep = slept ? .nanoseconds(turn.asleep) : nil
    reason = Names.text(ofReason: turn.reason)
    kind = turn.kind == 255 ? nil : Names.text(ofKind: UInt64(turn.kind))
    self.name = turn.kind == 255 ? nil : name(turn.label)
    callouts = Int(turn.callouts)
    interval = turn.kind == CalloutKind.timer.rawValue ? turn.detail : nil
  }

  var json: JSON {
    .members([
      "turn": .number(Int64(clamping: turn)), "time": JSON.optional(time), "asleep": JSON.optional(asleep?.nanoseconds),
      "reason": .string(reason), "kind": kind.map(JSON.string), "name": name.map(JSON.string),
      "callouts": .number(Int64(callouts)),
    ])
  }
}

/// A cause of wakeups, and how often it woke the loop.
public struct Waker: Sendable {
  /// The cause, as ``Wakeup/reason`` names it.
  public let reason: String
  /// The kind of the first called item; nil without one.
  public let kind: String?
  /// The name of the first called item; nil without one.
  public let name: String?
  /// The number of wakeups with this cause.
  public let wakeups: Int
  /// Wakeups a second since the oldest recorded turn, counted as at least one second.
  public let perSecond: Double

  var json: JSON {
    .members([
      "reason": .string(reason), "kind": kind.map(JSON.string), "name": name.map(JSON.string),
      "wakeups": .number(Int64(wakeups)), "perSecond": .thousandths(Int64((perSecond * 1_000).rounded())),
    ])
  }
}

/// A timer that woke its loop shortly before another cause.
public struct SavableWakeups: Sendable {
  /// The name of the timer.
  public let name: String
  /// The number of the last wakeups that a tolerance would have saved.
  public let count: Int
  /// The tolerance that saves them: at most a tenth of the interval.
  public let tolerance: Duration

  var json: JSON {
    .members([
      "name": .string(name), "count": .number(Int64(count)), "tolerance": .number(tolerance.nanoseconds),
    ])
  }
}

extension Recorder {
  /// The last turns, the oldest first. Any thread.
  var wakeups: [Wakeup] {
    let turns = unsafe [rondo_turn](unsafeUninitializedCapacity: rondo_turn_count) { buffer, count in
      unsafe count = Int(rondo_record_turns(record, buffer.baseAddress!))
    }
    var names: [UInt64: String] = [:]
    return turns.map { turn in
      Wakeup(turn) { label in
        if let known = names[label] { return known }
        let name = Names.text(of: Label(word: label))
        names[label] = name
        return name
      }
    }
  }
}

enum WakeupSummary {
  /// What woke the loop, the most frequent first.
  ///
  /// - Parameter now: In nanoseconds of CLOCK_MONOTONIC, as the wakeups' times.
  static func wakers(_ wakeups: [Wakeup], now: Int64 = rondo_monotonic_now()) -> [Waker] {
    struct Key: Hashable {
      let reason: String
      let kind: String?
      let name: String?
    }
    let slept = wakeups.filter { $0.time != nil }
    guard let first = slept.first, let begin = first.time, let last = slept.last?.time else { return [] }
    // From when the first one began to sleep; a loop in virtual time may be ahead. Two wakeups in a moment are no rate.
    let span = max(now, last) - begin + (first.asleep?.nanoseconds ?? 0)
    let seconds = max(Double(span) / 1e9, 1)
    var counts: [Key: Int] = [:]
    for wakeup in slept { counts[Key(reason: wakeup.reason, kind: wakeup.kind, name: wakeup.name), default: 0] += 1 }
    return counts.map { key, count in
      Waker(reason: key.reason, kind: key.kind, name: key.name, wakeups: count, perSecond: Double(count) / seconds)
    }
    .sorted { ($0.wakeups, $1.name ?? "") > ($1.wakeups, $0.name ?? "") }
  }

  /// Timers that woke the loop by themselves shortly before it woke anyway, by at most a tenth of their interval.
  static func savable(_ wakeups: [Wakeup]) -> [SavableWakeups] {
    var found: [String: (count: Int, tolerance: Int64)] = [:]
    let slept = wakeups.filter { $0.time != nil }
    for (this, next) in zip(slept, slept.dropFirst()) {
      guard this.reason == "timer", this.callouts == 1, let name = this.name, let interval = this.interval,
        interval > 0,
        next.name != name, let early = this.time, let late = next.time, late - early <= interval / 10
      else { continue }
      let known = found[name] ?? (0, 0)
      found[name] = (known.count + 1, max(known.tolerance, late - early))
    }
    return found.map { SavableWakeups(name: $0, count: $1.count, tolerance: .nanoseconds($1.tolerance)) }
      .sorted { ($0.count, $1.name) > ($1.count, $0.name) }
  }
}
