import Glibc
import Rondo
import RondoTestSupport
import Testing

extension StressTests {
  /// Whatever another thread does to an item while it is called, the turn that has borrowed it goes on safely. Meant for
  /// the address sanitizer, in release: what is built for debugging keeps each item as long as it is used.
  @Suite struct CalloutRaceTests {
    private let rounds = stressCount(2_000)

    @Test(arguments: Kind.allCases, Meddling.allCases)
    fileprivate func `an item is taken away in its callout`(_ kind: Kind, _ meddling: Meddling) {
      let running = RunningLoop()
      let other = RunningLoop()
      let calls = SharedNumber()
      let deaths = SharedNumber()
      for round in 1...rounds {
        let gate = Gate()
        let death = AtDeath { deaths.add() }
        var item: Loop.Item? = kind.make {
          _ = death
          calls.add()
          gate.pass()
        }
        running.loop.add(item!)
        kind.provoke(item!, running.loop)
        spin { gate.isEntered }
        meddling.apply(to: item!, in: running.loop, other.loop)
        // In every other round the loops alone have it from here on.
        if round % 2 == 0 { item = nil }
        gate.open()
        item?.invalidate()
        item = nil
        running.settle()
      }
      running.settle()
      running.end()
      other.end()
      #expect(calls.value >= rounds)
      // With the loops' ends all of them have left.
      #expect(deaths.value == rounds)
    }
  }
}

/// Kinds of items that are called once they are in a loop.
private enum Kind: CaseIterable, Sendable {
  case oneShotTimer, repeatingTimer, source, observer, oneShotObserver, descriptor

  func make(_ call: @escaping @Sendable () -> Void) -> Loop.Item {
    switch self {
    case .oneShotTimer: Loop.Timer(after: .zero) { _ in call() }
    case .repeatingTimer: Loop.Timer(at: ContinuousClock.now, every: .seconds(3_600)) { _ in call() }
    case .source: Loop.Source(perform: call)
    case .observer: Loop.Observer(.beforeTimers) { _ in call() }
    case .oneShotObserver: Loop.Observer(.beforeTimers, repeats: false) { _ in call() }
    case .descriptor: Readable.shared.source(call)
    }
  }

  func provoke(_ item: Loop.Item, _ loop: Loop) {
    if let source = item as? Loop.Source { source.signal() }
    loop.wakeUp()
  }
}

/// What another thread does in the callout.
private enum Meddling: CaseIterable, Sendable {
  case remove, invalidate, move, addAgain

  func apply(to item: Loop.Item, in loop: Loop, _ other: Loop) {
    switch self {
    case .remove: loop.remove(item)
    case .invalidate: item.invalidate()
    case .move:
      loop.remove(item)
      other.add(item)
    case .addAgain:
      loop.remove(item)
      loop.add(item)
    }
  }
}

/// Where a callout waits for the other thread; only the first does.
private final class Gate: Sendable {
  private let entered = SharedNumber()
  private let opened = SharedNumber()

  var isEntered: Bool { entered.value > 0 }

  func open() { opened.set(1) }

  func pass() {
    if entered.add() == 1 { spin { opened.value == 1 } }
  }
}

/// A descriptor that is always ready to be read.
private struct Readable: Sendable {
  static let shared = Readable()
  private let reader: CInt

  private init() {
    var ends: [CInt] = [0, 0]
    precondition(unsafe pipe(&ends) == 0 && write(ends[1], [UInt8(1)], 1) == 1, "errno \(errno)")
    reader = ends[0]
  }

  func source(_ call: @escaping @Sendable () -> Void) -> Loop.Item {
    do {
      return try Loop.DescriptorSource(dup(reader), for: .read, closesOnInvalidation: true) { source, _ in
        source.disable(.read)
        call()
      }
    } catch {
      fatalError("\(error)")
    }
  }
}

/// Does something when it dies.
private final class AtDeath: Sendable {
  private let action: @Sendable () -> Void
  init(_ action: @escaping @Sendable () -> Void) { self.action = action }
  deinit { action() }
}
