import Synchronization

/// What a floor above asks of a loop to tell what it is doing.
extension Loop {
  /// Makes `delegate` the loop's, unless the loop has one. Any thread; permanent.
  ///
  /// - Returns: The loop's delegate.
  package func attach(_ delegate: any LoopDelegate) -> any LoopDelegate {
    let new = unsafe Unmanaged.passRetained(DelegateBox(delegate))
    let (isFirst, old) = unsafe core.delegate.compareExchange(
      expected: nil, desired: new, ordering: .acquiringAndReleasing)
    if isFirst {
      unsafe new._withUnsafeGuaranteedRef { $0.showItems(of: core) }
      return delegate
    }
    unsafe new.release()
    return unsafe old!.takeUnretainedValue().delegate
  }

  /// Has the delegate told of sleeps from now on, too. Any thread; permanent.
  package func tellSleeps() {
    counters.watchesSleep.store(true, ordering: .relaxed)
  }

  /// Any thread.
  package var delegate: (any LoopDelegate)? {
    unsafe core.delegate.load(ordering: .acquiring)?._withUnsafeGuaranteedRef { $0.delegate }
  }

  /// The loop's clock, in nanoseconds.
  package var clockNanoseconds: Int64 { now.nanoseconds }

  /// The kernel's name for the loop's thread; 0 before it has been there. Any thread.
  package var threadNumber: Int32 { thread.number }

  /// The thread, in words. Any thread.
  package var threadDescription: String { thread.description }

  /// What waits in the mailbox: changes, blocks and jobs. Any thread.
  package var mailed: (changes: Int, blocks: Int, jobs: Int) {
    mailbox.withLock { ($0.mail.changes.count, $0.mail.blocks.count, $0.mail.jobs.count) }
  }

  /// Each mode by name, with the date of its next timer as the loop last went to sleep with it; nil for none. Any thread.
  package var modeDates: [(mode: Mode, date: Int64?)] {
    mailbox.withLock { state in
      state.modes.names.indices.compactMap { index in
        guard let name = state.modes.names[index] else { return nil }
        let date = index < state.states.count ? state.states[index].publishedFireDate.load(ordering: .relaxed) : .max
        return (name, date == .max ? nil : date)
      }
    }
  }

  /// Everything that is in the loop. The loop's thread; O(items).
  package var inventory: Inventory {
    core.applyMail()
    var inventory = Inventory()
    inventory.modes = core.modes.compactMap { mode in
      guard let name = names(of: mode.bit).first else { return nil }
      let date = core.nextFireDate(in: mode)
      return Inventory.ModeEntry(
        name: name.rawValue, isCommon: mode.isCommon, wasRun: mode.wasRun,
        items: mode.groups.reduce(mode.itemCount) { $0 + $1.keptCount },
        observers: mode.observers.entries.count, nextDate: date == .distantFuture ? nil : date.nanoseconds)
    }
    inventory.items = core.allItems.map { item in
      Inventory.ItemEntry(item, modes: names(of: core.installedModes(of: item)).map(\.rawValue))
    }
    let timeouts = core.timers.all.filter { core.timers.timer($0.slot) == nil }
    inventory.timeouts = timeouts.count
    inventory.armedTimeouts = timeouts.count { core.timers[$0.slot].isArmed }
    inventory.blocks = core.blocks.count
    inventory.jobs = core.modalJobs.reduce(core.jobs.queue.count) { $0 + $1.queue.count }
    return inventory
  }

  /// What is in a loop at a moment.
  package struct Inventory: Sendable {
    package var modes: [ModeEntry] = []
    package var items: [ItemEntry] = []
    package var timeouts = 0
    package var armedTimeouts = 0
    /// Those that the loop has taken out of its mailbox.
    package var blocks = 0
    package var jobs = 0

    package struct ModeEntry: Sendable {
      package let name: String
      package let isCommon: Bool
      /// Whether it has ever been run.
      package let wasRun: Bool
      /// What keeps the mode from being empty: no observers.
      package let items: Int
      package let observers: Int
      package let nextDate: Int64?
    }

    package struct ItemEntry: Sendable {
      package let kind: CalloutKind
      package let label: Label
      /// Tells it from others that live at the same time, as ``LoopCallout/item`` does.
      package let item: UInt
      package let modes: [String]
      package let isValid: Bool
      /// Of a timer, in nanoseconds.
      package var nextDate: Int64?
      package var interval: Int64 = 0
      package var tolerance: Int64 = 0
      package var isPrecise = false
      /// Of a descriptor source.
      package var descriptor: CInt = -1
      package var interest = ""
      /// Of a source.
      package var isSignalled = false

      init(_ item: Item, modes: [String]) {
        self.modes = modes
        isValid = item.isValid
        var item = item
        switch item.kind {
        case .observer: kind = .observer
        case .source:
          kind = .source
          let source = downcast(item, to: Source.self)
          isSignalled = source.isSignalled
          item = source.primary
        case .descriptor:
          kind = .descriptor
          let source = downcast(item, to: DescriptorSource.self)
          descriptor = source.descriptor
          interest = source.enabled.description
        case .timer:
          kind = .timer
          let schedule = downcast(item, to: Timer.self).schedule
          nextDate = schedule.fireDate.nanoseconds
          interval = schedule.interval
          tolerance = schedule.effectiveTolerance
          isPrecise = schedule.isPrecise
        }
        label = item.label
        self.item = UInt(bitPattern: unsafe Unmanaged.passUnretained(item).toOpaque())
      }
    }
  }
}
