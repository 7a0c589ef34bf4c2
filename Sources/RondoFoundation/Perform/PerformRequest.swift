import Foundation
import Rondo
import Synchronization

/// Something asked of a run loop: the token to take it back with.
///
/// The request goes on without the token. Every member may be used from any thread.
public final class PerformRequest: Sendable {
  /// *its own lock* What is to be done, until it begins or is cancelled.
  private let body: Mutex<Body?>
  /// *its own lock* What the loop keeps; set before it is in the loop.
  private let item = Mutex(WeakItem())

  private struct Body: @unchecked Sendable {
    let run: () -> Void
  }

  private struct WeakItem {
    weak var item: Loop.Item?
  }

  init(_ body: @escaping () -> Void) {
    self.body = Mutex(nil)
    let body = Body(run: body)
    self.body.withLock { $0 = body }
  }

  /// Whether it is still to be done: not cancelled, not begun, and its loop has not ended.
  public var isPending: Bool {
    body.withLock { $0 != nil }
  }

  /// Takes it back, and lets go of what it captured. One that is running is finished.
  ///
  /// - Returns: Whether it was still to be done.
  @discardableResult
  public func cancel() -> Bool {
    let body = body.withLock { $0.take() }
    item.withLock { $0.item }?.invalidate()
    return body != nil
  }

  func attach(_ item: Loop.Item) {
    self.item.withLock { $0.item = item }
  }

  /// Does it, once. Calls out.
  func run() {
    let body = body.withLock { $0.take() }
    item.withLock { $0.item }?.invalidate()
    body?.run()
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
/// A request keeps its target until it is over, so that nobody else takes its identity.
final class PerformRequests: Sendable {
  private typealias Pending = [ObjectIdentifier: PerformRequest]
  private let byTarget = Mutex<[ObjectIdentifier: Pending]>([:])

  func insert(_ request: PerformRequest, for target: ObjectIdentifier) {
    byTarget.withLock { $0[target, default: [:]][ObjectIdentifier(request)] = request }
  }

  func remove(_ request: PerformRequest, for target: ObjectIdentifier) {
    byTarget.withLock { byTarget in
      byTarget[target]?[ObjectIdentifier(request)] = nil
      if byTarget[target]?.isEmpty == true { byTarget[target] = nil }
    }
  }

  func cancel(_ target: ObjectIdentifier) {
    let pending = byTarget.withLock { $0.removeValue(forKey: target) }
    for request in pending?.values ?? [:].values { request.cancel() }
  }
}
