import Rondo

/// A loop with its nested runs, beside what each run ought to remember: what the exploration walks through.
struct WakeMemoryModel: Hashable {
  /// Where a run is. User code may run everywhere but in a wait.
  enum Step: Hashable {
    case entry, beforeWait, inSource, waiting, afterWait, between, over
  }

  /// What a run's next wait owes to the wakeups that have come.
  enum Debt: Hashable {
    /// Nothing has come since the turn began: the wait may not return at once.
    case nothing
    /// The run goes round, whatever the wait does.
    case either
    /// The run was woken: the wait has to return at once.
    case wait
  }

  struct Run: Hashable {
    var step = Step.entry
    var debt = Debt.nothing
    var isStopped = false
  }

  /// What may happen next.
  enum Event: Hashable, CaseIterable {
    case wakeUp, stop, postWake, postStop
    case beginRun, beginTurn, beginSource, endSource, beginWait, endWait, endWaitForAnother, endTurn, endRun
  }

  /// The error put into the loop, to see that the exploration finds it.
  enum Flaw: Hashable, CaseIterable {
    case none, remembersAfterTheWait, wakeNotSpent, nestedRunTakesWhatCameBefore, deafWhileNested, lateStopKept
    case stopTakenForAWake
  }

  var memory = WakeMemory()
  /// What others have posted and the loop has not absorbed.
  var word = WakeProtocol()
  /// The runs under way, the innermost last.
  var runs: [Run] = []
  let deepest: Int
  let flaw: Flaw

  init(deepest: Int, flaw: Flaw = .none) {
    self.deepest = deepest
    self.flaw = flaw
  }

  /// Every state one event away, with what that event did wrong, if anything.
  func successors() -> [(state: WakeMemoryModel, fault: String?)] {
    Event.allCases.filter(isPossible).map { event in
      var next = self
      let fault = next.happen(event)
      return (next, fault)
    }
  }

  private func isPossible(_ event: Event) -> Bool {
    let step = runs.last?.step
    switch event {
    case .postWake, .postStop: return true
    case .wakeUp, .stop: return step != .waiting
    case .beginRun: return step != .waiting && runs.count < deepest
    // A stop may have come since the run decided to go on.
    case .beginTurn: return step == .entry || step == .between
    case .beginSource: return step == .beforeWait
    case .endSource: return step == .inSource
    case .beginWait: return step == .beforeWait
    case .endWait, .endWaitForAnother: return step == .waiting
    // A turn that has emptied its mode leaves its wait out.
    case .endTurn: return step == .beforeWait || step == .afterWait
    case .endRun: return step == .over || step == .between || (step == .entry && memory.isStopped)
    }
  }
}

// MARK: - Events

extension WakeMemoryModel {
  private mutating func happen(_ event: Event) -> String? {
    switch event {
    case .wakeUp:
      owe()
      if flaw == .deafWhileNested, runs.count > 1 { return nil }
      memory.wake(at: .distantPast)
    case .stop:
      memory.stop(at: .distantPast)
      stopInnermost()
    case .postWake:
      _ = word.post(.wake)
      owe()
    case .postStop:
      _ = word.post(.stop)
      stopInnermost()
    case .beginRun:
      if flaw != .nestedRunTakesWhatCameBefore { absorb() }
      memory.beginRun()
      if flaw == .nestedRunTakesWhatCameBefore { absorb() }
      runs.append(Run())
    case .beginTurn:
      absorb()
      memory.beginTurn()
      runs[runs.count - 1].step = .beforeWait
    case .beginSource:
      memory.beginSource()
      runs[runs.count - 1].step = .inSource
    case .endSource:
      memory.endSource()
      runs[runs.count - 1].step = .beforeWait
    case .beginWait:
      absorb()
      runs[runs.count - 1].step = .waiting
      return waitFault
    case .endWait:
      absorb()
      if flaw == .wakeNotSpent { memory.carryOver() } else { memory.waitEnded() }
      if flaw == .remembersAfterTheWait { memory.beginTurn() }
      runs[runs.count - 1].debt = .nothing
      runs[runs.count - 1].step = .afterWait
    case .endWaitForAnother:
      // Whatever else the wait returned for comes first, so it still has to return for a wakeup.
      absorb()
      if memory.isWoken { runs[runs.count - 1].debt = .wait }
      memory.carryOver()
      runs[runs.count - 1].step = .afterWait
    case .endTurn:
      // Without a wait the next turn, which comes after the wakeup, may sleep.
      if runs.last!.step == .beforeWait, runs.last!.debt == .wait { runs[runs.count - 1].debt = .either }
      memory.carryOver()
      absorb()
      runs[runs.count - 1].step = memory.isStopped ? .over : .between
      return stopFault
    case .endRun:
      memory.endRun()
      runs.removeLast()
      if flaw != .lateStopKept { _ = word.take(.stop) }
    }
    return nil
  }

  private mutating func absorb() {
    let bits = word.take([.wake, .stop])
    memory.absorb(flaw == .stopTakenForAWake && !bits.isEmpty ? .wake : bits, at: .distantPast)
  }

  /// A wakeup comes: whoever has a wait before it in this turn has to hear of it there.
  private mutating func owe() {
    for index in runs.indices {
      let isInnermost = index == runs.count - 1
      switch runs[index].step {
      case .entry, .beforeWait: runs[index].debt = .wait
      case .inSource:
        if isInnermost {
          runs[index].debt = .wait
        } else if runs[index].debt == .nothing {
          runs[index].debt = .either
        }
      case .waiting, .afterWait, .between, .over: break
      }
    }
  }

  /// A stop comes: it concerns the innermost run, unless that has decided to end, and it wakes it.
  private mutating func stopInnermost() {
    guard let step = runs.last?.step else { return }
    runs[runs.count - 1].isStopped = true
    if step == .entry || step == .beforeWait || step == .inSource { runs[runs.count - 1].debt = .wait }
  }

  private var waitFault: String? {
    switch runs.last!.debt {
    case .nothing where memory.isWoken: "a wait returns at once though nothing came in its turn"
    case .wait where !memory.isWoken: "a run sleeps in the turn in which it was woken"
    case .nothing, .either, .wait: nil
    }
  }

  private var stopFault: String? {
    if memory.isStopped && !runs.last!.isStopped { return "a run ends by the stop of another" }
    if !memory.isStopped && runs.last!.isStopped { return "a stopped run goes on" }
    return nil
  }
}
