import Foundation
import Rondo

/// A block that waits in a run loop, and that you can cancel.
///
/// If you release the object, the request stays in the loop. Use every member from any thread.
public final class PerformRequest: Sendable {
  /// *constant* What its target may cancel it by.
  let name: String?
  /// *its own lock*
  private let state: Guarded<State>

  private struct State {
    /// What is to be done, until it begins or is cancelled.
    var body: (() -> Void)?
    /// What the loop keeps; set before it is in the loop.
    weak var item: Loop.Item?
  }

  init(named name: String? = nil, _ body: @escaping () -> Void) {
    self.name = name
    nonisolated(unsafe) let state = State(body: body)
    self.state = Guarded(unsafe state)
  }

  /// Whether the block has not begun, was not cancelled, and its loop has not ended.
  public var isPending: Bool {
    state.withLock { $0.body != nil }
  }

  /// Cancels the request and frees the block. A block that runs is not interrupted.
  ///
  /// - Returns: Whether the request was pending.
  @discardableResult
  public func cancel() -> Bool {
    take() != nil
  }

  /// Gives `post` a request to do `block`, and waits until it is over if told to.
  ///
  /// - Returns: Whether it is on its way; if it was waited for, whether it was done.
  static func give(_ block: @escaping () -> Void, waits: Bool, to post: (PerformRequest) -> Bool) -> Bool {
    guard waits else { return post(PerformRequest(block)) }
    let answer = Answer<Void, Never>()
    give(block, answer, to: post)
    return (try? answer.wait().get()) != nil
  }

  /// Only the request may hold the ticket when this has returned: its end is the answer.
  private static func give(
    _ block: @escaping () -> Void, _ answer: Answer<Void, Never>, to post: (PerformRequest) -> Bool
  ) {
    let ticket = CallTicket<Void, Never>(block, answer.give)
    _ = post(PerformRequest(ticket.run))
  }

  func attach(_ item: Loop.Item) {
    state.withLock { $0.item = item }
  }

  /// Does it, once. Calls out.
  func run() {
    take()?()
  }

  /// Only one caller gets the body; the item is of no more use.
  private func take() -> (() -> Void)? {
    let (body, item) = state.withLock { state in (state.body.take(), state.item) }
    item?.invalidate()
    return body
  }
}

/// What an item of a loop holds of a request. However the item dies, the request is over.
final class PerformLifeline: Sendable {
  let request: PerformRequest
  private let target: ObjectIdentifier?
  private let requests: PerformRequests

  init(_ request: PerformRequest, target: ObjectIdentifier?, _ requests: PerformRequests) {
    self.request = request
    self.target = target
    self.requests = requests
    if let target { requests.insert(request, for: target) }
  }

  deinit {
    if let target { requests.remove(request, for: target) }
    request.cancel()
  }
}

/// The requests of a run loop that can be taken back by their target. *its own lock*
///
/// A request keeps its target until it is over, so that no other object takes its identity.
final class PerformRequests: Sendable {
  private typealias Pending = [ObjectIdentifier: PerformRequest]
  private let byTarget = Guarded<[ObjectIdentifier: Pending]>([:])

  func insert(_ request: PerformRequest, for target: ObjectIdentifier) {
    byTarget.withLock { $0[target, default: [:]][ObjectIdentifier(request)] = request }
  }

  func remove(_ request: PerformRequest, for target: ObjectIdentifier) {
    byTarget.withLock { byTarget in
      byTarget[target]?[ObjectIdentifier(request)] = nil
      if byTarget[target]?.isEmpty == true { byTarget[target] = nil }
    }
  }

  /// Cancels the requests of a target, or those with a name.
  func cancel(_ target: ObjectIdentifier, named name: String? = nil) {
    let taken = byTarget.withLock { byTarget in
      let pending = byTarget.removeValue(forKey: target) ?? [:]
      let taken = pending.filter { name == nil || $0.value.name == name }
      if taken.count < pending.count { byTarget[target] = pending.filter { taken[$0.key] == nil } }
      return taken
    }
    for request in taken.values { request.cancel() }
  }
}
