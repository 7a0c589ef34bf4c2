public import Rondo

extension Loop {
  /// Events of a loop's items, as an async sequence. For one task.
  ///
  /// Its items are in the loop from the beginning. Events that the task has not taken yet are merged, so a sequence keeps
  /// little: each function that makes one says how. It ends when its task is cancelled, when an item is invalidated, and
  /// when the loop's thread ends. Releasing the iterator, or a sequence without one, invalidates the items.
  public struct Events<Origin: Sendable, Element, Failure: Error>: AsyncSequence, Sendable {
    /// The item or source of the events, or several. Invalidating one ends the sequence.
    public let origin: Origin
    fileprivate let feed: Feed<Element, Failure>
    fileprivate let lease: FeedLease<Element, Failure>
    /// Called when the task begins to wait.
    fileprivate let demand: @Sendable () -> Void

    package init(
      of origin: Origin, _ feed: Feed<Element, Failure>, demand: @escaping @Sendable () -> Void = {}
    ) {
      self.origin = origin
      self.feed = feed
      self.demand = demand
      lease = FeedLease(feed)
    }

    /// Returns an iterator. For one task.
    public func makeAsyncIterator() -> Iterator {
      Iterator(sequence: self, lease: FeedLease(feed))
    }

    /// Waits for events.
    public struct Iterator: AsyncIteratorProtocol {
      fileprivate let sequence: Events
      fileprivate let lease: FeedLease<Element, Failure>

      /// Waits for the next event; nil when the sequence has ended. Stays on the caller's actor.
      ///
      /// - Throws: Why the sequence ended, if that was a failure.
      public mutating func next(isolation actor: isolated (any Actor)?) async throws(Failure) -> Element? {
        try await sequence.feed.next(demand: sequence.demand)
      }
    }
  }

  /// Returns the ticks of a timer that fires every `interval`. Any thread.
  ///
  /// The first tick is one interval from now. If a tick is not taken before the next, the two are merged: you get the
  /// newer one, and its `missed` counts the older. You may change the date and interval of the timer, `origin`.
  public func ticks(
    every interval: Duration, tolerance: Duration = .zero, in mode: Mode = .common
  ) -> Events<Timer, Timer.Tick, Never> {
    let feed = Feed<Timer.Tick, Never>(merging: { older, newer in newer.counting(older) })
    let timer = DelegatingTimer(repeatingEvery: interval, on: self, tolerance: tolerance) { tick in feed.offer(tick) }
    feed.follow([timer], in: mode, of: self) { timer.invalidate() }
    return Events(of: timer, feed)
  }

  /// Returns a sequence with an element each time `descriptor` is found ready. Any thread.
  ///
  /// Each element means that the descriptor is ready now. The loop watches the descriptor only while a task waits for
  /// an element. The sequence throws the reason why the loop gave up on the descriptor.
  ///
  /// - Throws: `.notOpen` for a negative or closed descriptor, `.notPollable` for a regular file or a directory.
  public func readiness(
    of descriptor: CInt, for interest: DescriptorSource.Readiness, in mode: Mode = .common
  ) throws(DescriptorError) -> Events<DescriptorSource, DescriptorSource.Readiness, DescriptorSource.InvalidationReason>
  {
    let feed = Feed<DescriptorSource.Readiness, DescriptorSource.InvalidationReason>(
      merging: { older, newer in older.union(newer) })
    feed.failure = { ($0 as? DescriptorSource)?.invalidationReason }
    let source = try DelegatingDescriptorSource(descriptor, for: []) { source, readiness in
      // First, so that the task's next demand comes after it.
      source.disable(interest)
      feed.offer(readiness)
    }
    feed.follow([source], in: mode, of: self) { source.invalidate() }
    return Events(of: source, feed) { source.enable(interest) }
  }
}

/// Ends a feed when its last reference goes, which a sequence or an iterator had.
private final class FeedLease<Element, Failure: Error>: Sendable {
  private let feed: Feed<Element, Failure>

  init(_ feed: Feed<Element, Failure>) {
    self.feed = feed
  }

  deinit {
    feed.end()
  }
}
