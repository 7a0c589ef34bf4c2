import Rondo
import Synchronization

/// The modes that items, blocks and runs are spread over.
let allModes: [Loop.Mode] = [.default, "x", "y"]

/// A loop's thread in its place, until another one takes it.
final class Berth: Sendable {
  let thread: LoopThread
  /// Set before the loop is told to drop its blocks.
  let end: LoopEnd

  var loop: Loop { thread.loop }

  init(seed: UInt64, ledger: Ledger) throws {
    thread = try LoopThread(name: "soak")
    end = LoopEnd(ledger)
    let loop = thread.loop
    let end = end
    thread.execute {
      Dice.give(Dice(seed: seed, loop: loop))
      // After each turn, before each sleep and at the end of each run, all that the loop knows must agree.
      for mode in allModes {
        loop.add(
          Loop.Observer([.beforeTimers, .beforeWaiting, .exit], order: .max) { _ in
            end.ledger.turns.add()
            loop.checkInvariants()
          }, to: mode)
      }
    }
  }
}

/// How a loop ends, as far as its blocks are concerned.
final class LoopEnd: Sendable {
  let ledger: Ledger
  private let drops = Atomic<Bool>(false)

  init(_ ledger: Ledger) { self.ledger = ledger }

  var mayDrop: Bool { drops.load(ordering: .sequentiallyConsistent) }

  func allowDropping() { drops.store(true, ordering: .sequentiallyConsistent) }
}

/// The four loops of a round.
final class Crew: Sendable {
  private let ledger: Ledger
  private let places: Guarded<[Berth]>

  init(seed: UInt64, ledger: Ledger) throws {
    self.ledger = ledger
    places = Guarded(try (0..<4).map { try Berth(seed: seed &+ UInt64($0) &* 7_919, ledger: ledger) })
  }

  var berths: [Berth] { places.withLock { $0 } }

  func pick(_ dice: Dice) -> Berth { places.withLock { $0[dice.below($0.count)] } }

  /// Puts a new loop into a place.
  ///
  /// - Returns: The one that was there; it ends when it is let go of, if not before.
  func replace(_ dice: Dice) -> Berth? {
    guard let new = try? Berth(seed: dice.next(), ledger: ledger) else {
      ledger.fail("no thread for another loop")
      return nil
    }
    ledger.replacedLoops.add()
    return places.withLock { places in
      let place = dice.below(places.count)
      let old = places[place]
      places[place] = new
      return old
    }
  }
}

/// A block that was handed to a loop: it runs once, or is refused, or is dropped by a loop that may.
final class Post: @unchecked Sendable {
  private let end: LoopEnd
  private let mustRun: Bool
  private let outcome = Atomic<Int>(0)
  private let witness: Witness

  /// - Parameter mustRun: Whether a loop that drains runs it.
  init(_ end: LoopEnd, mustRun: Bool) {
    self.end = end
    self.mustRun = mustRun
    witness = Witness(end.ledger.posts)
  }

  func run() {
    end.ledger.ran.add()
    if outcome.add(1, ordering: .sequentiallyConsistent).newValue != 1 { end.ledger.fail("a block ran twice") }
  }

  func refuse() {
    end.ledger.refused.add()
    if outcome.add(2, ordering: .sequentiallyConsistent).newValue != 2 { end.ledger.fail("a refused block ran") }
  }

  deinit {
    guard outcome.load(ordering: .sequentiallyConsistent) == 0 else { return }
    end.ledger.dropped.add()
    if mustRun && !end.mayDrop { end.ledger.fail("a block was accepted, and dropped by a loop that drains") }
  }
}
