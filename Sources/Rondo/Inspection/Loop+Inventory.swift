extension Loop: CustomStringConvertible, CustomDebugStringConvertible {
  /// The loop's state, its modes, and its first 100 items with their dates. Any thread.
  ///
  /// Of an item: its modes, whether it is in the common set, its order, activities, date and validity.
  /// The text is a snapshot. It may change between versions. Another thread than the loop's sees the modes alone, and what
  /// other threads have added since the last turn is counted. O(items). See CFShow.
  public var description: String { text(limit: 100) }

  /// The same with all items.
  public var debugDescription: String { text(limit: .max) }

  private func text(limit: Int) -> String {
    var lines = isCurrent ? takeInventory().lines(now: clockNanoseconds, limit: limit) : modeLines
    let mailed = mailed.changes
    if mailed > 0 { lines.append("\(mailed) changes of other threads wait for the next turn") }
    return ([summary] + lines.map { "  \($0)" }).joined(separator: "\n")
  }

  /// What another thread knows of the modes. Any thread.
  package var modeLines: [String] {
    let now = clockNanoseconds
    return modeDates.map { mode, date in
      "mode \(mode.rawValue)" + (date.map { ", next timer \(Inventory.distance($0 - now))" } ?? "")
    }
  }

  /// Everything that is in the loop, what others have mailed included. The loop's thread; O(items). Calls out.
  package var inventory: Inventory {
    core.applyMail()
    return takeInventory()
  }

  /// What the loop's thread knows to be in the loop. O(items).
  private func takeInventory() -> Inventory {
    core.assertOwnThread()
    var inventory = Inventory()
    inventory.modes = core.modes.compactMap { mode in
      guard let name = names(of: mode.bit).first else { return nil }
      let date = core.nextFireDate(in: mode)
      return Inventory.ModeEntry(
        name: name.rawValue, isCommon: mode.isCommon, wasRun: mode.wasRun,
        items: mode.groups.reduce(mode.itemCount) { $0 + core.timers[$1].keptCount },
        observers: mode.observers.entries.count, nextDate: date == .distantFuture ? nil : date.nanoseconds)
    }
    inventory.items = core.allItems.map { item in
      Inventory.ItemEntry(
        item, modes: names(of: core.installedModes(of: item)).map(\.rawValue), isCommon: contains(item, in: .common))
    }
    let timeouts = core.timers.all.filter { core.timers.timer($0.slot) == nil }
    inventory.timeouts = timeouts.count
    inventory.armedTimeouts = timeouts.count { core.timers[$0.slot].isArmed }
    inventory.blocks = core.blocks.count
    inventory.jobs = core.knownJobs?.count ?? 0
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
      /// Whether it is in the common set: a mode that becomes common gets it.
      package let isCommon: Bool
      package let isValid: Bool
      package let order: Int
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
      /// Of an observer.
      package var activities = ""

      init(_ item: Item, modes: [String], isCommon: Bool) {
        self.modes = modes
        self.isCommon = isCommon
        isValid = item.isValid
        order = item.order
        var item = item
        switch item.kind {
        case .observer:
          kind = .observer
          activities = downcast(item, to: Observer.self).activities.description
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
