import Rondo
import Synchronization

/// One round: four loops, some fifty items, and threads that do random things to them until it is over.
final class Round: @unchecked Sendable {
  let seed: UInt64
  let ledger: Ledger
  let crew: Crew
  /// Half of the callouts do something themselves, unless the soak is looking.
  private let isQuiet = Atomic<Bool>(false)
  private let pool = Guarded<[Specimen]>([])
  /// Every item that was made, to see whether it goes.
  private let traces = Guarded<[WeakItem]>([])

  static let poolSize = 48
  /// Threads that belong to no loop.
  static let helpers = 3

  init(seed: UInt64, ledger: Ledger) throws {
    self.seed = seed
    self.ledger = ledger
    crew = try Crew(seed: seed, ledger: ledger)
  }

  // MARK: - Items

  var specimens: [Specimen] { pool.withLock { $0 } }

  func pickSpecimen(_ dice: Dice) -> Specimen? {
    pool.withLock { pool in pool.isEmpty ? nil : pool[dice.below(pool.count)] }
  }

  /// Puts a new item into the pool, in the place of another one if it is full.
  func replaceSpecimen(_ dice: Dice) {
    let shared = dice.oneIn(6) ? pickSpecimen(dice)?.channel : nil
    let isShareable = shared?.isClosedBySource == false && shared?.isWhole == true
    guard let made = Specimen.make(dice, in: self, sharing: isShareable ? shared : nil) else { return }
    let trace = WeakItem()
    trace.item = made.item
    traces.withLock { traces in
      if traces.count >= 1_000 { traces.removeAll { $0.item == nil } }
      traces.append(trace)
    }
    // The old one dies outside the lock: its end calls out.
    let old = pool.withLock { pool -> Specimen? in
      guard pool.count >= Self.poolSize else {
        pool.append(made)
        return nil
      }
      let place = dice.below(pool.count)
      let old = pool[place]
      pool[place] = made
      return old
    }
    _ = consume old
    // As the one before: an item nobody has put anywhere is of little use.
    crew.pick(dice).loop.add(made.item, to: pickMode(dice))
  }

  func pickMode(_ dice: Dice) -> Loop.Mode {
    dice.oneIn(5) ? .common : dice.pick(allModes)
  }

  // MARK: - Doing

  /// Some of the callouts of an item move it on, or do something else.
  func actInCallout(of item: Loop.Item?) {
    guard let dice = Dice.current, !isQuiet.load(ordering: .sequentiallyConsistent), dice.depth < 6 else { return }
    if let item, dice.oneIn(3) { move(item, dice) } else if dice.oneIn(3) { act(dice) }
  }

  /// One random operation on the calling thread.
  func act(_ dice: Dice) {
    dice.depth += 1
    ledger.operations.add()
    perform(pickOperation(dice), dice)
    dice.depth -= 1
  }

  /// Lets the helpers do that many operations each, and waits for them.
  func stir(_ operations: Int, stage: Int) {
    isQuiet.store(false, ordering: .sequentiallyConsistent)
    let helpers = (0..<Self.helpers).map { number in
      let seed = seed &+ UInt64(number) &* 104_729 &+ UInt64(stage) &* 1_299_709
      return startThread {
        let dice = Dice(seed: seed)
        Dice.give(dice)
        for operation in 1...operations {
          self.act(dice)
          // The loops have to keep up, or their mail grows without end.
          if operation % 50 == 0 { self.settle(self.crew.pick(dice)) }
        }
      }
    }
    for helper in helpers { join(helper) }
  }

  // MARK: - Looking

  /// Returns when everything that was handed to the loop before has been served, or the loop has ended.
  func settle(_ berth: Berth) {
    for _ in 0..<3 {
      let latch = Latch()
      guard berth.loop.perform({ [fuse = Fuse(latch)] in _ = fuse }) else { return }
      latch.wait()
    }
  }

  /// Stops all callouts from doing more, and returns when none is under way and nothing is in the mail.
  func quieten() {
    isQuiet.store(true, ordering: .sequentiallyConsistent)
    for _ in 0..<2 { for berth in crew.berths { settle(berth) } }
  }

  /// How many of the items that were made are still there.
  var livingItems: Int { traces.withLock { $0.count { $0.item != nil } } }

  func emptyPool() {
    let specimens = pool.withLock { pool in
      defer { pool = [] }
      return pool
    }
    _ = consume specimens
  }
}
