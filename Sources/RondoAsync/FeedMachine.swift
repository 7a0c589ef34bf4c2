internal import Rondo

/// What a loop's callouts told and a task has not taken yet. A pure machine.
package struct FeedMachine<Waiter, Element, Failure: Error> {
  /// What a task gets: an element, nil for the end, or why it ended.
  package typealias Answer = Result<Element?, Failure>

  package struct Delivery {
    package let waiter: Waiter
    package let answer: Answer
  }

  private var pending: [Element] = []
  private var waiter: Waiter?
  private var isOver = false
  /// Told once, after the last element.
  private var failure: Failure?

  package init() {}

  /// A new element, for the task that waits or to be kept.
  ///
  /// - Parameter merge: Adds the element to those that are kept, or makes one of it and another.
  package mutating func offer(_ element: Element, _ merge: (inout [Element], Element) -> Void) -> Delivery? {
    if isOver { return nil }
    if let waiter = waiter.take() { return Delivery(waiter: waiter, answer: .success(element)) }
    merge(&pending, element)
    return nil
  }

  /// What there is without waiting; nil if nothing is.
  package mutating func take() -> Answer? {
    if !pending.isEmpty { return .success(pending.removeFirst()) }
    guard isOver else { return nil }
    return failure.take().map { .failure($0) } ?? .success(nil)
  }

  /// What there is, or else a place for the task to wait in.
  package mutating func wait(_ new: Waiter) -> Answer? {
    if let answer = take() { return answer }
    require(waiter == nil, "Two tasks await the next element of one sequence. Make a sequence for each.")
    waiter = new
    return nil
  }

  /// No element comes any more; those that are kept are still given.
  package mutating func end(_ failure: Failure?) -> Delivery? {
    if isOver { return nil }
    isOver = true
    self.failure = failure
    guard let waiter = waiter.take(), let answer = take() else { return nil }
    return Delivery(waiter: waiter, answer: answer)
  }

  /// No element is given any more.
  package mutating func cancel() -> Delivery? {
    pending = []
    failure = nil
    isOver = true
    return waiter.take().map { Delivery(waiter: $0, answer: .success(nil)) }
  }
}
