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

  /// Nil without NOTIFY_SOCKET, with an empty one, or with one of a kind that later managers may have.
  init?(environment: [String: String]) throws(DaemonError) {
    guard let text = environment["NOTIFY_SOCKET"], !text.isEmpty else { return nil }
    guard text.first == "/" || text.first == "@" else {
      // sd_notify(3) has vsock: as well. A server serves without its manager's knowing.
      warn("no service manager hears of the daemon: NOTIFY_SOCKET=\(text) is no Unix-domain socket.")
      return nil
    }
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
        state.withLock { $0.flush(to: address, room) }
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
    state.withLock { $0.flush(to: address, room) }
  }

  /// Tells it, or keeps it until there is room. Any thread; never blocks.
  func tell(_ news: ServiceState) {
    let message = news.message()
    state.withLock { state in
      // A manager that does not read gets no heap of them, and no older status than the latest.
      if news == .watchdog, !state.waiting.isEmpty { return }
      if case .status = news { state.waiting.removeAll { $0.starts(with: "STATUS=".utf8) } }
      state.waiting.append(message)
      state.flush(to: address, room)
    }
  }
}

extension ServiceManager.State {
  /// Sends what waits, as far as there is room.
  ///
  /// - Parameter room: Watches for more of it, as decided here: two threads may send.
  fileprivate mutating func flush(to address: SocketAddress, _ room: Loop.DescriptorSource) {
    while let message = waiting.first {
      do {
        if try send(message, to: address) == 0 { break }
        waiting.removeFirst()
      } catch .refused, .notFound {
        // The manager is not there any more.
        waiting = []
      } catch {
        // This message alone is refused.
        waiting.removeFirst()
      }
    }
    room.enabled = waiting.isEmpty ? [] : .write
  }

  /// Connected, the socket tells when there is room; a manager that was restarted is at the address again.
  private func send(_ message: [UInt8], to address: SocketAddress) throws(SocketError) -> Int {
    if let count = try? socket.send(message[...]), count > 0 { return count }
    if try socket.connect(to: address) == false { return 0 }
    return try socket.send(message[...])
  }
}
