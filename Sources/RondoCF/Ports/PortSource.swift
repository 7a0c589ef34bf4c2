import Rondo
import RondoPorts

/// The source by which a loop receives a local message port's messages.
final class PortSource: SourceObject, @unchecked Sendable {
  /// *constant* Who has the function that answers.
  private let owner: MessagePortObject
  private let state: Guarded<State>

  private struct State {
    /// Another one after the port's name has changed.
    var port: LocalMessagePort
    /// Where it was put, by loop.
    var seats: [ObjectIdentifier: (loop: Loop, modes: Set<Loop.Mode>)] = [:]
  }

  init(order: Int, _ port: LocalMessagePort, of owner: MessagePortObject) {
    self.owner = owner
    state = Guarded(State(port: port))
    super.init(order: order)
  }

  override var about: String { "order = \(order), context = \(owner.text)" }
  override var isValid: Bool { super.isValid && port.isValid }

  private var port: LocalMessagePort { state.withLock { $0.port } }

  override func isMember(of loop: Loop) -> Bool { state.withLock { $0.seats[ObjectIdentifier(loop)] != nil } }

  override func add(to loop: Loop, _ mode: Loop.Mode) {
    guard loop.add(port, to: mode) else { return }
    state.withLock { _ = $0.seats[ObjectIdentifier(loop), default: (loop, [])].modes.insert(mode) }
  }

  override func remove(from loop: Loop, _ mode: Loop.Mode) {
    loop.remove(port, from: mode)
    state.withLock { state in
      state.seats[ObjectIdentifier(loop)]?.modes.remove(mode)
      if state.seats[ObjectIdentifier(loop)]?.modes.isEmpty == true { state.seats[ObjectIdentifier(loop)] = nil }
    }
  }

  override func contains(in loop: Loop, _ mode: Loop.Mode) -> Bool { loop.contains(port, in: mode) }

  /// Receives by another port in the same modes. Calls out.
  func replace(_ new: LocalMessagePort) {
    let seats = state.withLock { state in
      state.port = new
      return state.seats
    }
    for seat in seats.values { for mode in seat.modes { seat.loop.add(new, to: mode) } }
  }

  override func endItem() {
    let (port, seats) = state.withLock { state in
      defer { state.seats = [:] }
      return (state.port, state.seats)
    }
    for seat in seats.values { for mode in seat.modes { seat.loop.remove(port, from: mode) } }
  }
}
