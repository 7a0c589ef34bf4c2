/// What Rondo's loops do, as the documentation says it: sets, lists and sorting, and not one of Rondo's structures.
///
/// Three rules carry the moves. Membership is what counts, and it is asked right before each callout. What a turn has
/// collected is worth something only for an item that has not left the loop since. A fire moves the timer to its next date
/// before the callout.
final class LoopModel {
  private final class Item {
    let play: Play.Item
    /// By loop: modes, whether it is in the common set, and how often it has left the loop.
    var modes: [Set<String>]
    var isCommon: [Bool]
    var departures: [Int]
    var isValid = true
    var date = 0
    var isSpent = false
    var every = 0
    var tolerance = 0
    var missed = 0
    var ticket = 0
    var isInterested = true

    init(_ play: Play.Item, loops: Int) {
      self.play = play
      modes = Array(repeating: [], count: loops)
      isCommon = Array(repeating: false, count: loops)
      departures = Array(repeating: 0, count: loops)
      if case .timer(let after, let every, let tolerance) = play.kind {
        (date, self.every, self.tolerance) = (after, every, tolerance)
      }
    }

    var isSource: Bool { play.kind == .source }
    var isTimer: Bool { if case .timer = play.kind { true } else { false } }
    var isObserver: Bool { if case .observer = play.kind { true } else { false } }
    var isEdge: Bool { play.kind == .descriptor(edge: true) }
    func isIn(_ loop: Int) -> Bool { !modes[loop].isEmpty || isCommon[loop] }
    /// When the loop has to wake for it at the latest.
    var hardDeadline: Int { date + (every > 0 ? min(tolerance, every / 2) : tolerance) }
  }

  private struct Loop {
    var now = 0
    var common: Set<String> = ["D"]
    /// The modes somebody has used; a name that is only common is none yet.
    var known: Set<String> = ["D"]
    var blocks: [(name: String, mode: String)] = []
    /// Told by script, one wait each.
    var ready: [Item] = []
    /// Edges that were collected and not told, by mode.
    var carried: [String: [Item]] = [:]
    /// The item in its callout.
    var calling: Item?
    var isStopped = false
    var isWoken = false
    var keepsWakes = false
    var isRunning = false
  }

  private var loops: [Loop]
  private let items: [Item]
  private let prompter: Prompter
  private var tickets = 0

  private init(_ play: Play) {
    loops = Array(repeating: Loop(), count: play.loopCount)
    items = play.items.map { Item($0, loops: play.loopCount) }
    prompter = Prompter(play.scripts)
  }

  static func trace(of play: Play) -> [String] {
    let model = LoopModel(play)
    model.prompter.perform = { [unowned model] in model.perform($0) }
    play.steps.forEach(model.perform)
    return model.prompter.trace
  }

  private subscript(_ name: String) -> Item { items.first { $0.play.name == name }! }

  // MARK: Deeds

  private func perform(_ deed: Play.Deed) {
    switch deed {
    case .add(let name, let loop, let mode): add(self[name], loop, mode)
    case .remove(let name, let loop, let mode): remove(self[name], loop, mode)
    case .move(let name, let old, let new, let mode):
      for mode in ["C"] + Play.modes { remove(self[name], old, mode) }
      add(self[name], new, mode)
    case .invalidate(let name): invalidate(self[name])
    case .signal(let name, let waking):
      let item = self[name]
      guard item.isValid else { return }
      if item.ticket == 0 {
        tickets += 1
        item.ticket = tickets
      }
      if waking { for loop in loops.indices where item.isIn(loop) { wake(loop) } }
    case .date(let name, let after):
      let item = self[name]
      guard item.isValid else { return }
      let owner = loops.indices.first { item.isIn($0) } ?? loops.count - 1
      (item.date, item.isSpent) = (loops[owner].now + after, false)
    case .tolerance(let name, let tolerance): if self[name].isValid { self[name].tolerance = tolerance }
    case .interest(let name, let isInterested): if self[name].isValid { self[name].isInterested = isInterested }
    case .ready(let name, let loop): loops[loop].ready.append(self[name])
    case .common(let loop, let mode):
      guard loops[loop].common.insert(mode).inserted else { return }
      for item in items where item.isCommon[loop] { join(item, loop, [mode]) }
    case .block(let name, let loop, let mode, let waking):
      if mode != "C" { loops[loop].known.insert(mode) }
      loops[loop].blocks.append((name, mode))
      if waking { wake(loop) }
    case .stop(let loop):
      guard loops[loop].isRunning else { return }
      loops[loop].isStopped = true
      wake(loop)
    case .wake(let loop): wake(loop)
    case .spend(let loop, let time): loops[loop].now += time
    case .run(let loop, let mode, let time, let handled): if !loops[loop].isRunning { run(loop, mode, time, handled) }
    }
  }

  /// Kept only where the run could still miss something.
  private func wake(_ loop: Int) {
    if loops[loop].isRunning, loops[loop].keepsWakes { loops[loop].isWoken = true }
  }

  private func add(_ item: Item, _ loop: Int, _ mode: String) {
    let isElsewhere = !item.isSource && loops.indices.contains { $0 != loop && item.isIn($0) }
    guard item.isValid, !isElsewhere else { return }
    if mode == "C" {
      item.isCommon[loop] = true
      join(item, loop, loops[loop].common)
    } else {
      join(item, loop, [mode])
    }
  }

  private func join(_ item: Item, _ loop: Int, _ modes: Set<String>) {
    item.modes[loop].formUnion(modes)
    loops[loop].known.formUnion(modes)
  }

  private func remove(_ item: Item, _ loop: Int, _ mode: String) {
    guard item.isIn(loop) else { return }
    if mode == "C" {
      guard item.isCommon[loop] else { return }
      item.isCommon[loop] = false
      leave(item, loop, loops[loop].common)
    } else {
      leave(item, loop, [mode])
    }
  }

  private func leave(_ item: Item, _ loop: Int, _ modes: Set<String>) {
    item.modes[loop].subtract(modes)
    for mode in modes { loops[loop].carried[mode]?.removeAll { $0 === item } }
    guard !item.isIn(loop) else { return }
    item.departures[loop] += 1
    // Which ticks it missed was that loop's affair.
    item.missed = 0
  }

  private func invalidate(_ item: Item) {
    item.isValid = false
    for loop in loops.indices where item.isIn(loop) {
      item.isCommon[loop] = false
      leave(item, loop, Set(Play.modes))
    }
  }

  /// Passes over the grid points up to now.
  private func pass(_ timer: Item, _ now: Int) {
    while timer.date <= now {
      timer.date += timer.every
      timer.missed += 1
    }
  }

  // MARK: The turn

  private func members(_ loop: Int, _ mode: String) -> [Item] { items.filter { $0.modes[loop].contains(mode) } }

  private func isEmpty(_ loop: Int, _ mode: String) -> Bool {
    members(loop, mode).allSatisfy(\.isObserver) && !loops[loop].blocks.contains { runs($0.mode, loop, mode) }
  }

  private func runs(_ wanted: String, _ loop: Int, _ mode: String) -> Bool {
    wanted == mode || (wanted == "C" && loops[loop].common.contains(mode))
  }

  private func call(_ item: Item, _ detail: String, _ loop: Int) {
    loops[loop].calling = item
    prompter.called(item.play.name, detail, at: loops[loop].now)
    loops[loop].calling = nil
  }

  private func run(_ loop: Int, _ mode: String, _ time: Int, _ returnsHandled: Bool) {
    prompter.running.append(loop)
    guard loops[loop].known.contains(mode), !isEmpty(loop, mode) else { return prompter.ended(.finished) }
    loops[loop].isRunning = true
    (loops[loop].isStopped, loops[loop].isWoken, loops[loop].keepsWakes) = (false, false, true)
    observe(.entry, loop, mode)
    let deadline = loops[loop].now + time
    var hasSlept = false
    var result: RunOutcome? = loops[loop].isStopped ? .stopped : nil
    while result == nil {
      loops[loop].keepsWakes = true
      let handled = turn(loop, mode, deadline, isInstant: time == 0, returnsHandled, &hasSlept)
      result =
        handled && returnsHandled
        ? .handledSource
        : time == 0 || deadline <= loops[loop].now
          ? .timedOut : loops[loop].isStopped ? .stopped : isEmpty(loop, mode) ? .finished : nil
    }
    observe(.exit, loop, mode)
    loops[loop].isRunning = false
    prompter.ended(result!)
  }

  /// - Returns: Whether a source was handled.
  private func turn(
    _ loop: Int, _ mode: String, _ deadline: Int, isInstant: Bool, _ returnsHandled: Bool, _ hasSlept: inout Bool
  ) -> Bool {
    observe(.beforeTimers, loop, mode)
    observe(.beforeSources, loop, mode)
    drain(loop, mode)
    var handled = perform(loop, mode, returnsHandled)
    if handled { drain(loop, mode) }
    guard !isEmpty(loop, mode) else { return handled }
    let polls = handled || isInstant
    if !polls { observe(.beforeWaiting, loop, mode) }
    let ready = wait(loop, mode, deadline, handled, isInstant, &hasSlept)
    if !polls { observe(.afterWaiting, loop, mode) }
    fire(loop, mode)
    handled = tell(ready, loop, mode, returnsHandled) || handled
    drain(loop, mode)
    return handled
  }

  private func observe(_ phase: Phases, _ loop: Int, _ mode: String) {
    let due = members(loop, mode).filter {
      if case .observer(let phases, _) = $0.play.kind { phases.contains(phase) } else { false }
    }
    for item in due.sorted(by: { $0.play.order < $1.play.order }) where item.modes[loop].contains(mode) {
      call(item, ":\(phase.token)", loop)
      if case .observer(_, repeats: false) = item.play.kind { invalidate(item) }
    }
  }

  private func drain(_ loop: Int, _ mode: String) {
    let queued = loops[loop].blocks
    loops[loop].blocks = []
    var unmatched: [(String, String)] = []
    for block in queued {
      guard runs(block.mode, loop, mode) else {
        unmatched.append(block)
        continue
      }
      prompter.called(block.name, "", at: loops[loop].now)
    }
    loops[loop].blocks = unmatched + loops[loop].blocks
  }

  private func perform(_ loop: Int, _ mode: String, _ returnsHandled: Bool) -> Bool {
    var handled = false
    let signalled = members(loop, mode).filter { $0.ticket > 0 }
    for item in signalled.sorted(by: { ($0.play.order, $0.ticket) < ($1.play.order, $1.ticket) }) {
      guard item.modes[loop].contains(mode), item.ticket > 0 else { continue }
      item.ticket = 0
      call(item, "", loop)
      handled = true
      if returnsHandled { break }
    }
    return handled
  }

  /// - Returns: The descriptors that are ready, each with how often its item had left the loop.
  private func wait(
    _ loop: Int, _ mode: String, _ deadline: Int, _ handled: Bool, _ isInstant: Bool, _ hasSlept: inout Bool
  ) -> [(item: Item, departures: Int)] {
    var ready = loops[loop].carried.removeValue(forKey: mode) ?? []
    let skips = hasSlept && handled && !isInstant && ready.isEmpty
    hasSlept = false
    if !skips {
      let mustLook =
        handled || isInstant || loops[loop].isWoken || loops[loop].isStopped || !ready.isEmpty || isEmpty(loop, mode)
      let wake = members(loop, mode).filter { $0.isTimer && !$0.isSpent }.map(\.hardDeadline)
      let limit = min(deadline, wake.min() ?? .max)
      var collected = collect(loop, mode)
      if !mustLook, limit > loops[loop].now {
        hasSlept = true
        if collected.isEmpty {
          loops[loop].now = limit
          collected = collect(loop, mode)
        }
      }
      for item in ready { collected.removeAll { $0 === item } }
      ready += collected
    }
    loops[loop].isWoken = false
    loops[loop].keepsWakes = false
    return ready.map { ($0, $0.departures[loop]) }
  }

  private func collect(_ loop: Int, _ mode: String) -> [Item] {
    let told = loops[loop].ready.filter { $0.modes[loop].contains(mode) && $0.isInterested }
    loops[loop].ready.removeAll { $0.modes[loop].contains(mode) && $0.isInterested }
    return told
  }

  private func fire(_ loop: Int, _ mode: String) {
    let due = members(loop, mode).filter { $0.isTimer && !$0.isSpent && $0.date <= loops[loop].now }
      .sorted { ($0.date, $0.play.order) < ($1.date, $1.play.order) }.map { ($0, $0.departures[loop]) }
    let limit = loops[loop].now
    for (timer, departures) in due {
      // One that has left and come back meanwhile is due in the next turn.
      guard timer.modes[loop].contains(mode), timer.departures[loop] == departures else { continue }
      guard timer.date <= loops[loop].now, !timer.isSpent else { continue }
      let detail = ":\(timer.date)\(timer.missed > 0 ? "+\(timer.missed)" : "")"
      timer.missed = 0
      timer.isSpent = timer.every == 0
      if timer.every > 0 {
        let known = timer.date <= limit ? limit : loops[loop].now
        timer.date += timer.every
        pass(timer, known)
      }
      let next = timer.date
      call(timer, detail, loop)
      if timer.isValid, timer.isSpent { invalidate(timer) }
      // What has passed in its own callout is passed over.
      if timer.every > 0, timer.isIn(loop), timer.date == next { pass(timer, loops[loop].now) }
    }
  }

  private func tell(
    _ ready: [(item: Item, departures: Int)], _ loop: Int, _ mode: String, _ returnsHandled: Bool
  ) -> Bool {
    let ordered = ready.enumerated().sorted {
      ($0.element.item.play.order, $0.offset) < ($1.element.item.play.order, $1.offset)
    }
    var handled = false
    for (item, departures) in ordered.map(\.element) where item.departures[loop] == departures {
      if handled && returnsHandled {
        // The kernel repeats what is level-triggered; the script does not.
        if item.isEdge { loops[loop].carried[mode, default: []].append(item) }
        continue
      }
      guard item.modes[loop].contains(mode), item.isInterested else { continue }
      call(item, "", loop)
      handled = true
    }
    return handled
  }
}
