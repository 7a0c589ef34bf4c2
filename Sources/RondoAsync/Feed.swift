internal import Rondo

/// Hands what a loop's callouts tell to one task; what it has not taken yet is merged into one element.
///
/// It lasts as long as its item is valid, and then gives the element that is left, if any, and the end.
final class Feed<Element, Failure: Error>: ItemDelegate, @unchecked Sendable {
  // Unchecked because of the fields under the lock, and because an element goes from the loop to the task.

  typealias Machine = FeedMachine<Waiter<Result<Element?, Failure>>, Element, Failure>

  /// *constant*
  private let lock = Lock()
  /// *its own lock, innermost*
  @safe @exclusivity(unchecked) private var machine = Machine()
  /// *its own lock* What feeds it, until the end.
  @safe @exclusivity(unchecked) private var item: Loop.Item?
  /// *constant* Makes one element of an older and a newer one.
  private let merge: (Element, Element) -> Element
  /// *constant* Why an item was invalidated, if that is a failure.
  private let failure: (Loop.Item) -> Failure?

  init(failure: @escaping (Loop.Item) -> Failure? = { _ in nil }, merge: @escaping (Element, Element) -> Element) {
    self.failure = failure
    self.merge = merge
  }

  /// Follows `item`, and puts it into a mode of the loop. Once, before anything else.
  func follow(_ item: some DelegatingItem, in mode: Loop.Mode, of loop: Loop) {
    self.item = item
    item.delegate = self
    // A loop that has ended takes nothing, and would never invalidate the item.
    if !loop.add(item, to: mode) { item.invalidate() }
  }

  /// Gives the task an element, or keeps it until the task asks. The loop's thread.
  func offer(_ element: Element) {
    deliver(lock.withLock { machine.offer(element, merge) })
  }

  /// The next element, or nil when it is over. One task at a time.
  ///
  /// - Parameter demand: Told when there is none yet.
  nonisolated(nonsending) func next(demand: () -> Void = {}) async throws(Failure) -> Element? {
    if Task.isCancelled { cancel() }
    if let answer = lock.withLock({ machine.take() }) { return try answer.get() }
    let answer = await Waiter.wait(isolation: #isolation) { waiter in
      if let answer = lock.withLock({ machine.wait(waiter) }) { waiter.resume(answer) } else { demand() }
    } onCancel: {
      cancel()
    }
    return try answer.get()
  }

  /// Ends at once, whatever is left. Any thread.
  private func cancel() {
    let (delivery, item) = lock.withLock { (machine.cancel(), self.item.take()) }
    item?.invalidate()
    deliver(delivery)
  }

  func itemWasInvalidated(_ item: Loop.Item) {
    let failure = failure(item)
    let delivery = lock.withLock {
      self.item = nil
      return machine.end(failure)
    }
    deliver(delivery)
  }

  private func deliver(_ delivery: Machine.Delivery?) {
    if let delivery { delivery.waiter.resume(delivery.answer) }
  }
}

/// Invalidates its item when its last reference goes, which a sequence or the iterator had.
final class ItemLease: Sendable {
  private let item: Loop.Item

  init(_ item: Loop.Item) {
    self.item = item
  }

  deinit {
    item.invalidate()
  }
}
