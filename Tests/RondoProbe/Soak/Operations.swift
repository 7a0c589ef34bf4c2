import Rondo

/// The random operations. Each may happen on any thread, in any callout.
extension Round {
  enum Operation {
    case create, add, remove, move, invalidate, reschedule, signal, interest, write, hangUp, close, post, nest, stop
    case commonMode, task, sleep, replace, ask, timeout

    /// How often each is chosen, of the sum.
    static let weights: [(Operation, Int)] = [
      (.create, 60), (.add, 120), (.remove, 60), (.move, 150), (.invalidate, 15), (.reschedule, 100), (.signal, 120),
      (.interest, 60), (.write, 100), (.hangUp, 4), (.close, 4), (.post, 100), (.nest, 40), (.stop, 20),
      (.commonMode, 3), (.task, 20), (.sleep, 15), (.replace, 1), (.ask, 30), (.timeout, 100),
    ]
    static let sum = weights.reduce(0) { $0 + $1.1 }
  }

  func pickOperation(_ dice: Dice) -> Operation {
    var rest = dice.below(Operation.sum)
    for (operation, weight) in Operation.weights {
      rest -= weight
      if rest < 0 { return operation }
    }
    return .ask
  }

  func perform(_ operation: Operation, _ dice: Dice) {
    switch operation {
    case .create: replaceSpecimen(dice)
    case .add: withSpecimen(dice) { crew.pick(dice).loop.add($0.item, to: pickMode(dice)) }
    case .remove: withSpecimen(dice) { crew.pick(dice).loop.remove($0.item, from: pickMode(dice)) }
    case .move: withSpecimen(dice) { move($0.item, dice) }
    case .invalidate: withSpecimen(dice) { $0.item.invalidate() }
    case .reschedule: withItem(Loop.Timer.self, dice) { timer, _ in reschedule(timer, dice) }
    case .signal: withItem(Loop.Source.self, dice) { source, specimen in signal(source, specimen, dice) }
    case .interest: withItem(Loop.DescriptorSource.self, dice) { source, _ in changeInterest(of: source, dice) }
    case .write: withSpecimen(dice) { $0.channel?.write() }
    case .hangUp: withSpecimen(dice) { $0.channel?.hangUp() }
    case .close: withSpecimen(dice) { $0.channel?.close() }
    case .post: post(dice)
    case .nest: nest(dice)
    case .stop: stop(dice)
    case .commonMode: crew.pick(dice).loop.addCommonMode(dice.pick(["x", "y", "z"]))
    case .task: startTask(dice)
    case .sleep: startSleeper(dice)
    case .replace: replaceLoop(dice)
    case .ask: ask(dice)
    case .timeout: changeTimeout(dice)
    }
  }

  private func withSpecimen(_ dice: Dice, _ body: (Specimen) -> Void) {
    if let specimen = pickSpecimen(dice) { body(specimen) }
  }

  private func withItem<Item: Loop.Item>(_ kind: Item.Type, _ dice: Dice, _ body: (Item, Specimen) -> Void) {
    // A few tries find one of the kind.
    for _ in 0..<4 {
      guard let specimen = pickSpecimen(dice), let item = specimen.item as? Item else { continue }
      return body(item, specimen)
    }
  }

  /// Takes an item out of the loop it is in, and adds it to another one in one or two modes.
  func move(_ item: Loop.Item, _ dice: Dice) {
    ledger.moves.add()
    let berths = crew.berths
    for berth in berths {
      for mode in allModes + [.common] where berth.loop.contains(item, in: mode) { berth.loop.remove(item, from: mode) }
    }
    let loop = dice.pick(berths).loop
    // One that another thread's loop has yet to let go of is left alone after a while.
    for _ in 0..<20 where loop.add(item, to: pickMode(dice)) {
      if dice.oneIn(2) { loop.add(item, to: pickMode(dice)) }
      return
    }
  }

  private func reschedule(_ timer: Loop.Timer, _ dice: Dice) {
    switch dice.below(6) {
    case 0: timer.tolerance = dice.oneIn(2) ? .zero : .microseconds(dice.below(500))
    case 1 where timer.repeats: timer.interval = .microseconds(50 + dice.below(3_000))
    case 2: timer.isPrecise = dice.oneIn(8)
    case 3: timer.fireDate = timer.fireDate.advanced(by: .microseconds(dice.below(2_000) - 1_000))
    default: timer.setFireDate(after: .microseconds(dice.below(2_000)))
    }
  }

  private func signal(_ source: Loop.Source, _ specimen: Specimen, _ dice: Dice) {
    specimen.record.sent.add()
    source.signal(waking: !dice.oneIn(4))
  }

  private func changeInterest(of source: Loop.DescriptorSource, _ dice: Dice) {
    let readiness: Loop.DescriptorSource.Readiness = dice.pick([.read, .read, .write, .closed])
    if dice.oneIn(2) { source.enable(readiness) } else { source.disable(readiness) }
  }

  private func post(_ dice: Dice) {
    let berth = crew.pick(dice)
    let modes: [Loop.Mode] = dice.pick([[.default], [.default], [.common], ["x"], ["x", .default], ["y", .common]])
    let post = Post(berth.end, mustRun: modes.contains(.default) || modes.contains(.common))
    let acts = dice.oneIn(2)
    let body: @Sendable () -> Void = { [weak self] in
      post.run()
      if acts { self?.actInCallout(of: nil) }
    }
    let isAccepted =
      modes == [.default]
      ? berth.loop.perform(waking: !dice.oneIn(4), body)
      : berth.loop.perform(in: modes, waking: !dice.oneIn(4), body)
    if !isAccepted { post.refuse() }
  }

  /// A run inside a run, on the loop's own thread; elsewhere a block that does it.
  private func nest(_ dice: Dice) {
    guard let loop = dice.loop else {
      crew.pick(dice).loop.perform { [weak self] in
        if let dice = Dice.current, dice.depth < 6 { self?.nest(dice) }
      }
      return
    }
    guard dice.depth < 5 else { return }
    dice.depth += 1
    loop.run(
      in: dice.pick(allModes), for: .microseconds(dice.oneIn(2) ? 0 : dice.below(1_000)),
      returnAfterSourceHandled: dice.oneIn(2))
    dice.depth -= 1
  }

  private func stop(_ dice: Dice) {
    let loop = crew.pick(dice).loop
    switch dice.below(3) {
    case 0: loop.stop()
    case 1: loop.requestStop()
    default: loop.wakeUp()
    }
  }

  private func startTask(_ dice: Dice) {
    let loop = crew.pick(dice).loop
    let witness = Witness(ledger.tasks)
    let (hops, prefers) = (1 + dice.below(3), dice.oneIn(3))
    Task {
      let actor = LoopActor(loop)
      for _ in 0..<hops { await actor.touch() }
      if prefers { await Task(executorPreference: loop) { await Task.yield() }.value }
      withExtendedLifetime(witness) {}
    }
  }

  private func startSleeper(_ dice: Dice) {
    let loop = crew.pick(dice).loop
    let witness = Witness(ledger.tasks)
    let (delay, tolerance, isCancelled) = (dice.below(3_000), dice.below(500), dice.oneIn(3))
    let task = Task {
      try? await loop.clock.sleep(for: .microseconds(delay), tolerance: .microseconds(tolerance))
      withExtendedLifetime(witness) {}
    }
    if isCancelled { task.cancel() }
  }

  /// A loop ends and another takes its place: stopped from here if this is no loop's thread, else let go of.
  private func replaceLoop(_ dice: Dice) {
    guard let old = crew.replace(dice) else { return }
    guard dice.loop == nil else { return }
    switch dice.below(3) {
    case 0:
      old.end.allowDropping()
      old.thread.stop(.drop)
    case 1: old.thread.stop(.drain)
    default: break
    }
  }

  /// Everything that only asks.
  private func ask(_ dice: Dice) {
    let loop = crew.pick(dice).loop
    _ = (loop.statistics, loop.heartbeat, loop.modes, loop.currentMode, loop.isWaiting)
    _ = loop.nextFireDate(in: dice.pick(allModes))
    withSpecimen(dice) { specimen in
      _ = (loop.contains(specimen.item, in: pickMode(dice)), specimen.item.isValid)
    }
  }
}

extension LoopActor {
  fileprivate func touch() { preconditionIsolated() }
}
