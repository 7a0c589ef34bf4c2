import Rondo
import RondoPorts

/// The source by which a loop receives a local message port's messages.
final class PortSource: SourceObject, @unchecked Sendable {
  /// *constant*
  private let port: LocalMessagePort
  /// *constant* Who has the function that answers.
  private let owner: MessagePortObject
  /// *its own lock* Where it was put, by loop.
  private let seats = Guarded<[ObjectIdentifier: (loop: Loop, modes: Set<Loop.Mode>)]>([:])

  init(order: Int, _ port: LocalMessagePort, of owner: MessagePortObject) {
    self.port = port
    self.owner = owner
    super.init(order: order)
  }

  override var text: String { "\(head("CFRunLoopSource")){valid = \(isValid ? "Yes" : "No"), order = \(order)}" }
  override var isValid: Bool { super.isValid && port.isValid }

  override func isMember(of loop: Loop) -> Bool { seats.withLock { $0[ObjectIdentifier(loop)] != nil } }

  override func add(to loop: Loop, _ mode: Loop.Mode) {
    guard loop.add(port, to: mode) else { return }
    seats.withLock { _ = $0[ObjectIdentifier(loop), default: (loop, [])].modes.insert(mode) }
  }

  override func remove(from loop: Loop, _ mode: Loop.Mode) {
    loop.remove(port, from: mode)
    seats.withLock { seats in
      seats[ObjectIdentifier(loop)]?.modes.remove(mode)
      if seats[ObjectIdentifier(loop)]?.modes.isEmpty == true { seats[ObjectIdentifier(loop)] = nil }
    }
  }

  override func contains(in loop: Loop, _ mode: Loop.Mode) -> Bool { loop.contains(port, in: mode) }

  override func endItem() {
    let seats = seats.withLock { seats in
      defer { seats = [:] }
      return seats
    }
    for (loop, modes) in seats.values { for mode in modes { loop.remove(port, from: mode) } }
  }
}
