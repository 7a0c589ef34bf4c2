/// What products above the core ask about the runs under way, and the items in them.
extension Loop {
  /// Reads the loop's clock again, for the phase under way as well. The loop's own thread.
  package func readClock() -> Instant {
    core.forgetClock()
    return core.now
  }

  /// Whether the innermost run never sleeps. The loop's own thread.
  package var isOnlyLooking: Bool { core.frames.innermostDeadline == .distantPast }

  /// Whether the innermost run ends with the turn under way: it was stopped, or returns when a source was handled. The
  /// loop's own thread.
  package var endsAfterCallout: Bool {
    core.isStopped || core.frames.first { _ in true }?.run.returnsAfterSourceHandled ?? false
  }

  /// Whether an item is in the mode that runs. The loop's own thread.
  package func serves(_ item: Item) -> Bool {
    guard let mode = core.frames.innermostMode, let item = item.registration(in: self) else { return false }
    return item.whileIn(self) { item.belongs(to: 1 << UInt64(mode)) } ?? false
  }

  /// How many runs are under way, one nested in the other. The loop's own thread.
  package var depth: Int {
    core.assertOwnThread()
    return core.depth
  }

  /// Whether the run that ended last had been stopped, also where it returned `.handledSource` or `.timedOut`. The
  /// loop's own thread.
  package var hasStoppedLastRun: Bool {
    core.assertOwnThread()
    return core.wasStopped
  }

  /// Whether an item is in a mode of the loop, or in its common set. Any thread.
  package func holds(_ item: Item) -> Bool {
    guard let seat = item.registration(in: self) else { return false }
    return seat.whileIn(self) { !seat.isUnregistered } ?? false
  }
}

extension Loop.Item {
  /// Whether the item belongs to a loop at present. Any thread.
  package final var isInLoop: Bool { loop != nil }

  /// The loop the item is in at present; of a source, its first. Any thread.
  package final var home: Loop? { loop }
}
