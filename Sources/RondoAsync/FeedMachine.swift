internal import Rondo

/// One element at most between a loop and a task. A pure machine.
package struct FeedMachine<Waiter, Element, Failure: Error> {
  /// What a task gets: an element, nil for the end, or why it ended.
  package typealias Answer = Result<Element?, Failure>

  package struct Delivery {
    package let waiter: Waiter
    package let answer: Answer
  }

  private var pending: Element?
  private var waiter: Waiter?
  private var isOver = false
  /// Told once, after the last element.
  private var failure: Failure?

  package init() {}

  /// A new element, for the task that waits or to be kept.
  package mutating func offer(_ element: Element, _ merge: (Element, Element) -> Element) -> Delivery? {
    if isOver { return nil }
    if let waiter = waiter.take() { return Delivery(waiter: waiter, answer: .success(element)) }
    pending = pending.map { merge($0, element) } ?? element
    return nil
  }

  /// What there is without waiting; nil if nothing is.
  package mutating func take() -> Answer? {
    if let element = pending.take() { return .success(element) }
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

  /// No element comes any more; one that is kept is still given.
  package mutating func end(_ failure: Failure?) -> Delivery? {
    if isOver { return nil }
    isOver = true
    self.failure = failure
    guard let waiter = waiter.take(), let answer = take() else { return nil }
    return Delivery(waiter: waiter, answer: answer)
  }

  /// No element is given any more.
  package mutating func cancel() -> Delivery? {
    pending = nil
    failure = nil
    isOver = true
    return waiter.take().map { Delivery(waiter: $0, answer: .success(nil)) }
  }
}
