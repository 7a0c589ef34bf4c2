import Rondo
import Synchronization

/// An item of some kind, and what has to be true of it. Any thread uses it; the handlers run where its loop says.
final class Specimen: @unchecked Sendable {
  enum Kind: CaseIterable {
    case timer, source, observer, descriptor
  }

  let kind: Kind
  let item: Loop.Item
  /// The sockets of a descriptor source, shared by those that watch the same one.
  let channel: Channel?
  let record: Record

  /// What the handlers and the soak know of an item. It does not hold the item, and the handlers hold it.
  final class Record: Sendable {
    let calls = Count()
    /// Signals sent, and how many of them had been when the source was last performed.
    let sent = Count()
    let seen = Atomic<Int>(0)
    /// Modes that a source was told to have joined, less those it was told to have left.
    let memberships = Count()
    /// Invalid, and its loop has looked: no handler may run any more.
    let isBuried = Atomic<Bool>(false)
    let ledger: Ledger

    init(_ ledger: Ledger) { self.ledger = ledger }

    var hasSeenAllSignals: Bool { seen.load(ordering: .sequentiallyConsistent) == sent.value }

    func noteCall(_ kind: Kind) {
      calls.add()
      ledger.callouts.add()
      if isBuried.load(ordering: .sequentiallyConsistent) { ledger.fail("a \(kind) was called after its end") }
    }
  }

  private init(_ kind: Kind, _ item: Loop.Item, _ record: Record, channel: Channel? = nil) {
    self.kind = kind
    self.item = item
    self.record = record
    self.channel = channel
  }

  deinit {
    // What the loops still hold of it, they let go of when they end.
    item.invalidate()
  }

  /// Whether it can be told of its descriptor, if it has one.
  var isUsable: Bool { item.isValid && channel?.isWhole != false }

  /// A new item of a random kind.
  static func make(_ dice: Dice, in round: Round, sharing other: Channel? = nil) -> Specimen? {
    switch other != nil ? .descriptor : dice.pick(Kind.allCases) {
    case .timer: makeTimer(dice, round)
    case .source: makeSource(dice, round)
    case .observer: makeObserver(dice, round)
    case .descriptor: makeDescriptor(dice, round, other)
    }
  }

  private static func makeTimer(_ dice: Dice, _ round: Round) -> Specimen {
    let record = Record(round.ledger)
    let witness = Witness(round.ledger.items)
    let tolerance: Duration = dice.oneIn(2) ? .zero : .microseconds(dice.below(500))
    let delay: Duration = .microseconds(50 + dice.below(3_000))
    let handler: @Sendable (Loop.Timer.Tick) -> Void = { [weak round] tick in
      withExtendedLifetime(witness) {
        record.noteCall(.timer)
        if tick.lateness < .zero { record.ledger.fail("a timer fired \(.zero - tick.lateness) early") }
        round?.actInCallout(of: tick.timer)
      }
    }
    let timer =
      dice.oneIn(3)
      ? Loop.Timer(after: delay, tolerance: tolerance, order: dice.below(3), handler: handler)
      : Loop.Timer(every: delay, tolerance: tolerance, order: dice.below(3), handler: handler)
    return Specimen(.timer, timer, record)
  }

  private static func makeSource(_ dice: Dice, _ round: Round) -> Specimen {
    let record = Record(round.ledger)
    let witness = Witness(round.ledger.items)
    let itself = WeakItem()
    let source = Loop.Source(
      order: dice.below(3), schedule: { _, _ in record.memberships.add() },
      cancel: { _, _ in record.memberships.add(-1) },
      perform: { [weak round] in
        withExtendedLifetime(witness) {
          record.noteCall(.source)
          record.seen.max(record.sent.value, ordering: .sequentiallyConsistent)
          round?.actInCallout(of: itself.item)
        }
      })
    itself.item = source
    return Specimen(.source, source, record)
  }

  private static func makeObserver(_ dice: Dice, _ round: Round) -> Specimen {
    let record = Record(round.ledger)
    let witness = Witness(round.ledger.items)
    let itself = WeakItem()
    // One of those that every run has, so that a run is enough to have it called.
    let sure: Loop.Activity = dice.pick([.entry, .exit, .beforeTimers, .beforeSources])
    let activities = dice.oneIn(2) ? sure : [sure, .beforeWaiting, .afterWaiting]
    let observer = Loop.Observer(activities, repeats: !dice.oneIn(4), order: dice.below(3)) { [weak round] _ in
      withExtendedLifetime(witness) {
        record.noteCall(.observer)
        round?.actInCallout(of: itself.item)
      }
    }
    itself.item = observer
    return Specimen(.observer, observer, record)
  }

  private static func makeDescriptor(_ dice: Dice, _ round: Round, _ shared: Channel?) -> Specimen? {
    guard let channel = shared ?? Channel(isClosedBySource: dice.oneIn(3), isEdge: dice.oneIn(2)) else {
      round.ledger.fail("no sockets")
      return nil
    }
    let record = Record(round.ledger)
    let witness = Witness(round.ledger.items)
    let source = try? Loop.DescriptorSource(
      channel.near, for: .read, trigger: channel.isEdge ? .edge : .level, order: dice.below(3),
      closesOnInvalidation: channel.isClosedBySource
    ) { [weak round] source, readiness in
      withExtendedLifetime(witness) {
        record.noteCall(.descriptor)
        // A socket can always be written, and a lost peer stays lost.
        if readiness.contains(.write) { source.disable(.write) }
        if channel.drain() || readiness.contains(.closed) { source.disable([.read, .closed]) }
        round?.actInCallout(of: source)
      }
    }
    // Somebody else may have closed the channel that it was to share.
    return source.map { Specimen(.descriptor, $0, record, channel: channel) }
  }
}

/// How a handler gets to know its own item without keeping it.
final class WeakItem: @unchecked Sendable {
  /// Set once, before anybody else knows of the item.
  weak var item: Loop.Item?
}
