public import Rondo

/// What a loop's items tell, as async sequences.
///
/// A sequence is for one task. It has an item in the loop from the beginning, keeps one element at most, into which
/// later ones are merged, and ends at once when its task is cancelled, when the item is invalidated, and when the
/// loop's thread ends. When its iterator is let go, or the sequence without one, the item is invalidated.
extension Loop {
  /// Returns the ticks of a timer that fires every `interval`. Any thread.
  ///
  /// The first tick is one interval from now. If a tick is not taken before the next, the two are merged: you get the
  /// newer one, and its `missed` counts the older.
  public func ticks(
    every interval: Duration, tolerance: Duration = .zero, in mode: Mode = .common
  ) -> Ticks {
    let feed = Feed<Timer.Tick, Never> { older, newer in newer.counting(older) }
    let timer = DelegatingTimer(repeatingEvery: interval, on: self, tolerance: tolerance) { tick in feed.offer(tick) }
    feed.follow(timer, in: mode, of: self)
    return Ticks(timer: timer, feed: feed, lease: ItemLease(timer))
  }

  /// Returns a sequence with an element each time `descriptor` is found ready. Any thread.
  ///
  /// Each element means that the descriptor is ready now. The loop watches the descriptor only while a task waits for
  /// an element.
  ///
  /// - Throws: `.notOpen` for a negative or closed descriptor, `.notPollable` for a regular file or a directory.
  public func readiness(
    of descriptor: CInt, for interest: DescriptorSource.Readiness, in mode: Mode = .common
  ) throws(DescriptorError) -> ReadinessSequence {
    let feed = Feed<DescriptorSource.Readiness, DescriptorSource.InvalidationReason>(
      failure: { ($0 as? DescriptorSource)?.invalidationReason },
      merge: { older, newer in older.union(newer) })
    let source = try DelegatingDescriptorSource(descriptor, for: []) { source, readiness in
      // First, so that the task's next demand comes after it.
      source.disable(interest)
      feed.offer(readiness)
    }
    feed.follow(source, in: mode, of: self)
    return ReadinessSequence(source: source, interest: interest, feed: feed, lease: ItemLease(source))
  }

  /// Returns a sequence of the loop's activities. Any thread.
  ///
  /// Activities that come before the task asks are merged into one set. The loop does not wait for the task. If the
  /// task runs on the loop itself and asks for `.beforeWaiting` or `.afterWaiting`, the loop never sleeps, because each
  /// element takes a turn.
  public func activities(_ activities: Activity, order: Int = 0, in mode: Mode = .common) -> Activities {
    let feed = Feed<Activity, Never> { older, newer in older.union(newer) }
    let observer = DelegatingObserver(activities, order: order) { activity in feed.offer(activity) }
    feed.follow(observer, in: mode, of: self)
    return Activities(observer: observer, feed: feed, lease: ItemLease(observer))
  }

  /// Ticks of a timer; see `Loop.ticks(every:tolerance:in:)`.
  public struct Ticks: AsyncSequence, Sendable {
    /// A tick of the timer.
    public typealias Element = Timer.Tick
    /// The sequence throws nothing.
    public typealias Failure = Never

    /// The timer that makes the ticks. You may change its date and interval; invalidating it ends the sequence.
    public let timer: Timer
    fileprivate let feed: Feed<Element, Never>
    fileprivate let lease: ItemLease

    /// Returns an iterator. For one task.
    public func makeAsyncIterator() -> Iterator {
      Iterator(feed: feed, leases: (lease, ItemLease(timer)))
    }

    /// Waits for ticks.
    public struct Iterator: AsyncIteratorProtocol {
      fileprivate let feed: Feed<Element, Never>
      fileprivate let leases: (ItemLease, ItemLease)

      /// The next tick; nil when the sequence has ended.
      public mutating func next() async -> Element? {
        await feed.next()
      }

      /// The next tick; nil when the sequence has ended. Stays on the caller's actor.
      public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
        await feed.next()
      }
    }
  }

  /// Moments at which a descriptor is ready; see `Loop.readiness(of:for:in:)`.
  public struct ReadinessSequence: AsyncSequence, Sendable {
    /// The ways in which the descriptor is ready.
    public typealias Element = DescriptorSource.Readiness
    /// The reason why the loop gave up on the descriptor.
    public typealias Failure = DescriptorSource.InvalidationReason

    /// The source that watches the descriptor. Invalidating it ends the sequence.
    public let source: DescriptorSource
    fileprivate let interest: DescriptorSource.Readiness
    fileprivate let feed: Feed<Element, Failure>
    fileprivate let lease: ItemLease

    /// Returns an iterator. For one task.
    public func makeAsyncIterator() -> Iterator {
      Iterator(source: source, interest: interest, feed: feed, leases: (lease, ItemLease(source)))
    }

    /// Waits for readiness.
    public struct Iterator: AsyncIteratorProtocol {
      fileprivate let source: DescriptorSource
      fileprivate let interest: DescriptorSource.Readiness
      fileprivate let feed: Feed<Element, Failure>
      fileprivate let leases: (ItemLease, ItemLease)

      /// Waits until the descriptor is ready; nil when the sequence has ended.
      ///
      /// - Throws: The reason why the loop gave up on the descriptor.
      public mutating func next() async throws(Failure) -> Element? {
        try await feed.next { source.enable(interest) }
      }

      /// Waits until the descriptor is ready; nil when the sequence has ended. Stays on the caller's actor.
      ///
      /// - Throws: The reason why the loop gave up on the descriptor.
      public mutating func next(isolation actor: isolated (any Actor)?) async throws(Failure) -> Element? {
        try await feed.next { source.enable(interest) }
      }
    }
  }

  /// Activities of a loop; see `Loop.activities(_:order:in:)`.
  public struct Activities: AsyncSequence, Sendable {
    /// The activities since the last element.
    public typealias Element = Activity
    /// The sequence throws nothing.
    public typealias Failure = Never

    /// The observer that sees the activities. Invalidating it ends the sequence.
    public let observer: Observer
    fileprivate let feed: Feed<Element, Never>
    fileprivate let lease: ItemLease

    /// Returns an iterator. For one task.
    public func makeAsyncIterator() -> Iterator {
      Iterator(feed: feed, leases: (lease, ItemLease(observer)))
    }

    /// Waits for activities.
    public struct Iterator: AsyncIteratorProtocol {
      fileprivate let feed: Feed<Element, Never>
      fileprivate let leases: (ItemLease, ItemLease)

      /// The activities since the last element; nil when the sequence has ended.
      public mutating func next() async -> Element? {
        await feed.next()
      }

      /// The activities since the last element; nil when the sequence has ended. Stays on the caller's actor.
      public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
        await feed.next()
      }
    }
  }
}
