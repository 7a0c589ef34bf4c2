import Rondo
import RondoSockets

/// The service manager's end of NOTIFY_SOCKET: told in order, and never waited for.
final class ServiceManager: Sendable {
  /// *constant*
  private let address: SocketAddress
  /// *its lock*
  private let state: Guarded<State>
  /// *constant* Tells when the manager has room again. In a loop from `join` on.
  private let room: Loop.DescriptorSource

  fileprivate struct State {
    let socket: Socket
    /// Messages that the manager had no room for.
    var waiting: [[UInt8]] = []
  }

  /// Nil without NOTIFY_SOCKET, or with an empty one.
  init?(environment: [String: String]) throws(DaemonError) {
    guard let text = environment["NOTIFY_SOCKET"], !text.isEmpty else { return nil }
    guard text.first == "/" || text.first == "@" else { throw .malformed(variable: "NOTIFY_SOCKET", value: text) }
    do throws(AddressError) {
      if text.first == "/" {
        address = try .file(text)
      } else {
        address = try .abstract(String(text.dropFirst()))
      }
    } catch {
      throw .notifyAddress(error)
    }
    let socket: Socket
    do throws(SocketError) {
      socket = try Socket(family: address.family, .datagram)
    } catch {
      throw .notifySocket(error)
    }
    let state = Guarded(State(socket: socket))
    self.state = state
    let address = address
    do {
      room = try Loop.DescriptorSource(socket.descriptor, for: []) { room, _ in
        if state.withLock({ $0.flush(to: address) }) { room.disable(.write) }
      }
    } catch {
      throw .notifySocket(.exhausted)
    }
  }

  /// From now on what the manager has no room for is sent by the loop.
  func join(_ loop: Loop) {
    room.name = "daemon: NOTIFY_SOCKET"
    loop.add(room, to: .common)
  }

  /// Sends no more, but what it can at once.
  func invalidate() {
    room.invalidate()
    _ = state.withLock { $0.flush(to: address) }
  }

  /// Tells it, or keeps it until there is room. Any thread; never blocks.
  func tell(_ states: [ServiceState]) {
    let isSent = state.withLock { state in
      // A manager that does not read gets no heap of them, and no older status than the latest.
      if states == [.watchdog], !state.waiting.isEmpty { return false }
      if case .status? = states.first, states.count == 1 { state.waiting.removeAll { $0.starts(with: "STATUS=".utf8) } }
      state.waiting.append(ServiceState.message(states))
      return state.flush(to: address)
    }
    if !isSent { room.enable(.write) }
  }
}

extension ServiceManager.State {
  /// Sends what waits.
  ///
  /// - Returns: Whether nothing waits any more.
  fileprivate mutating func flush(to address: SocketAddress) -> Bool {
    while let message = waiting.first {
      guard let count = try? send(message, to: address) else {
        // The manager is not there any more: the messages are dropped.
        waiting = []
        return true
      }
      if count == 0 { return false }
      waiting.removeFirst()
    }
    return true
  }

  /// Connected, the socket tells when there is room; a manager that was restarted is at the address again.
  private func send(_ message: [UInt8], to address: SocketAddress) throws(SocketError) -> Int {
    if let count = try? socket.send(message[...]), count > 0 { return count }
    if try socket.connect(to: address) == false { return 0 }
    return try socket.send(message[...])
  }
}
