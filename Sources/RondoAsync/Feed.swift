package import Rondo

/// Hands what a loop's callouts tell to one task.
///
/// It lasts as long as its items are valid, and then gives the elements that are left, and the end.
package final class Feed<Element, Failure: Error>: ItemDelegate, @unchecked Sendable {
  // Unchecked because of the fields under the lock, and because an element goes from the loop to the task.

  private typealias Machine = FeedMachine<Waiter<Result<Element?, Failure>>, Element, Failure>

  /// *constant*
  private let lock = Lock()
  /// *its own lock, innermost*
  @safe @exclusivity(unchecked) private var machine = Machine()
  /// *its own lock* Ends what feeds it; nil once it has ended.
  @safe @exclusivity(unchecked) private var endOrigin: (() -> Void)?
  /// *constant* Adds an element to those that the task has not taken yet.
  private let merge: (inout [Element], Element) -> Void

  package init(merge: @escaping (inout [Element], Element) -> Void) {
    self.merge = merge
  }

  /// Makes a feed that keeps one element at most.
  convenience init(merging merge: @escaping (_ older: Element, _ newer: Element) -> Element) {
    self.init { kept, element in kept = [kept.first.map { merge($0, element) } ?? element] }
  }

  /// *set before an item is followed* Why an item was invalidated, if that is a failure.
  package var failure: (Loop.Item) -> Failure? = { _ in nil }

  /// Follows items, and puts them into a mode of the loop. Once, before anything else.
  ///
  /// - Parameter end: Invalidates the items.
  package func follow(_ items: [Loop.Item], in mode: Loop.Mode, of loop: Loop, end: @escaping () -> Void) {
    endOrigin = end
    for item in items {
      (item as? any DelegatingItem)?.delegate = self
      // A loop that has ended takes nothing, and would never invalidate the item.
      if !loop.add(item, to: mode) { end() }
    }
  }

  /// Gives the task an element, or keeps it until the task asks. The loop's thread.
  package func offer(_ element: Element) {
    deliver(lock.withLock { machine.offer(element, merge) })
  }

  /// The next element, or nil when it is over. One task at a time.
  ///
  /// - Parameter demand: Told when there is none yet.
  nonisolated(nonsending) func next(demand: () -> Void) async throws(Failure) -> Element? {
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
    let delivery = lock.withLock { machine.cancel() }
    end()
    deliver(delivery)
  }

  /// Ends what feeds it; elements that are left are still given. Any thread.
  func end() {
    lock.withLock { endOrigin.take() }?()
  }

  package func itemWasInvalidated(_ item: Loop.Item) {
    let failure = failure(item)
    let delivery = lock.withLock { machine.end(failure) }
    end()
    deliver(delivery)
  }

  private func deliver(_ delivery: Machine.Delivery?) {
    if let delivery { delivery.waiter.resume(delivery.answer) }
  }
}
