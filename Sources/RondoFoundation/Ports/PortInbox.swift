import Foundation
import Rondo

/// Messages that came to a port and wait for its delegate, one a callout.
final class PortInbox: @unchecked Sendable {
  /// Guards everything; senders wait on it for room.
  private let condition = NSCondition()
  private var messages: [PortMessage] = []
  private var isOpen = true
  private weak var receiver: (any PortDelegate)?
  /// The loops own it and it owns the port: weak, so that the loops' end is the end of the circle.
  private weak var source: Loop.Source?
  /// The modes the port was added to, each once.
  private var places: [Place] = []
  private var capacity = 1024
  /// What the messages that wait cost, of those that came from elsewhere; and how much that may be.
  private var cost = 0
  private var costLimit = Int.max
  /// Called, with nothing held, when a full inbox has room again.
  private var hasRoom: (@Sendable () -> Void)?

  private struct Place {
    weak var loop: Loop?
    let mode: Loop.Mode
  }

  private var isFull: Bool { messages.count >= capacity || cost >= costLimit }

  private func withLock<Result>(_ body: () -> Result) -> Result {
    condition.lock()
    Lock.count(1)
    defer {
      Lock.count(-1)
      condition.unlock()
    }
    return body()
  }

  var isValid: Bool { withLock { isOpen } }

  var delegate: (any PortDelegate)? {
    get { withLock { receiver } }
    set { withLock { receiver = newValue } }
  }

  var limit: Int {
    get { withLock { capacity } }
    set {
      require(newValue > 0, "A port takes one message at least. Use invalidate() for one that takes none.")
      let roomy = withLock { () -> (@Sendable () -> Void)? in
        capacity = newValue
        condition.broadcast()
        var roomy: (@Sendable () -> Void)?
        if !isFull { swap(&roomy, &hasRoom) }
        return roomy
      }
      roomy?()
    }
  }

  /// What messages from elsewhere may cost while they wait, in bytes; one more than fits is taken.
  func limitCost(to limit: Int) {
    withLock { costLimit = limit }
  }

  /// What the messages from elsewhere that wait cost.
  var waitingCost: Int { withLock { cost } }

  /// - Returns: False if it was invalid before.
  func invalidate() -> Bool {
    let (wasOpen, source, messages) = withLock { () -> (Bool, Loop.Source?, [PortMessage]) in
      defer {
        isOpen = false
        self.messages = []
        cost = 0
        self.source = nil
        places = []
        hasRoom = nil
        condition.broadcast()
      }
      return (isOpen, self.source, self.messages)
    }
    source?.invalidate()
    _ = messages
    return wasOpen
  }

  // MARK: - In and out

  /// Waits for room until `limitDate`.
  ///
  /// - Returns: False if there was none, or the port is invalid.
  func put(_ message: PortMessage, before limitDate: Date) -> Bool {
    let limitDate = limitDate.limited
    let source = withLock { () -> Loop.Source?? in
      while isOpen, messages.count >= capacity {
        if !condition.wait(until: limitDate), messages.count >= capacity { return nil }
      }
      guard isOpen else { return nil }
      messages.append(message)
      return .some(self.source)
    }
    guard let source else { return false }
    source?.signal()
    return true
  }

  /// Whether there is room for a message from elsewhere; if not, `tell` is called once when there is.
  func hasRoom(orTell tell: @escaping @Sendable () -> Void) -> Bool {
    withLock {
      if isOpen, isFull { hasRoom = tell }
      return !isOpen || !isFull
    }
  }

  /// Takes a message from elsewhere. An invalid port drops it.
  func take(_ message: PortMessage) {
    let source = withLock { () -> Loop.Source? in
      guard isOpen else { return nil }
      messages.append(message)
      cost += message.cost
      return self.source
    }
    source?.signal()
  }

  /// One message to its handler; the others have turns of their own. Calls out.
  private func deliver(_ handle: (PortMessage) -> Void) {
    let (message, source, roomy) = withLock { () -> (PortMessage?, Loop.Source?, (@Sendable () -> Void)?) in
      guard !messages.isEmpty else { return (nil, nil, nil) }
      let message = messages.removeFirst()
      cost -= message.cost
      var roomy: (@Sendable () -> Void)?
      if messages.count < capacity { condition.signal() }
      if !isFull { swap(&roomy, &hasRoom) }
      return (message, messages.isEmpty ? nil : self.source, roomy)
    }
    source?.signal()
    roomy?()
    if let message { handle(message) }
  }

  // MARK: - Membership

  /// Whether this is the first time the port is added to a mode of a loop.
  func enter(_ loop: Loop, _ mode: Loop.Mode) -> Bool {
    changePlaces { places in
      places.removeAll { $0.loop == nil }
      guard isOpen, !places.contains(where: { $0.loop === loop && $0.mode == mode }) else { return false }
      places.append(Place(loop: loop, mode: mode))
      return true
    }
  }

  /// Whether the port was in a mode of a loop.
  func exit(_ loop: Loop, _ mode: Loop.Mode) -> Bool {
    changePlaces { places in
      let count = places.count
      places.removeAll { $0.loop === loop && $0.mode == mode }
      return places.count < count
    }
  }

  /// The loops that are looked at are let go of with nothing held: one of these may be the last reference.
  private func changePlaces(_ change: (inout [Place]) -> Bool) -> Bool {
    let (answer, loops) = withLock {
      let loops = places.map(\.loop)
      return (change(&places), loops)
    }
    _ = loops
    return answer
  }

  func schedule(in loop: Loop, _ mode: Loop.Mode, _ handle: @escaping (PortMessage) -> Void) {
    nonisolated(unsafe) let handle = handle
    let made = Loop.Source { self.deliver(unsafe handle) }
    let (source, isWaiting) = withLock { () -> (Loop.Source?, Bool) in
      guard isOpen else { return (nil, false) }
      let source = self.source ?? made
      self.source = source
      return (source, !messages.isEmpty)
    }
    guard let source else { return }
    loop.add(source, to: mode)
    if isWaiting { source.signal() }
  }

  func remove(from loop: Loop, _ mode: Loop.Mode) {
    guard let source = withLock({ source }) else { return }
    loop.remove(source, from: mode)
  }
}
