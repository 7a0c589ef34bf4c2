import CLinux
import CRondoDaemon
import Glibc
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
    var waiting: [Message] = []
    /// It listens to the predecessor as yet: messages wait.
    var isHeld = false
    /// It listens to the successor, and is told no more.
    var isRetired = false
  }

  fileprivate struct Message {
    let bytes: [UInt8]
    let descriptor: OwnedDescriptor?
  }

  /// A descriptor that closes with the last reference.
  final class OwnedDescriptor: Sendable {
    let number: CInt

    init(_ number: CInt) { self.number = number }
    deinit { rondo_close(number) }
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
  ///
  /// - Parameter descriptor: Goes with the message.
  func tell(_ news: ServiceState, with descriptor: OwnedDescriptor? = nil) {
    let message = Message(bytes: news.message(), descriptor: descriptor)
    state.withLock { state in
      // A manager that does not read gets no heap of them, and no older status than the latest.
      if state.isRetired || news == .watchdog && !state.waiting.isEmpty { return }
      if case .status = news { state.waiting.removeAll { $0.bytes.starts(with: "STATUS=".utf8) } }
      state.waiting.append(message)
      state.flush(to: address, room)
    }
  }

  /// Keeps what it is told from now on, until `release()`: it would refuse it.
  func hold() {
    state.withLock { $0.isHeld = true }
  }

  func release() {
    state.withLock { state in
      state.isHeld = false
      state.flush(to: address, room)
    }
  }

  /// Tells it no more: another process does.
  func retire() {
    state.withLock { $0.isRetired = true }
  }

  /// Calls `body` on the loop's thread when the manager has read what it was told, or after five seconds. The loop's
  /// thread. See sd_notify_barrier(3).
  func afterAll(on loop: Loop, _ body: sending @escaping () -> Void) {
    var ends: [CInt] = [0, 0]
    guard unsafe rondo_pipe(&ends) == 0 else { return body() }
    let own = OwnedDescriptor(ends[0])
    tell(.barrier, with: OwnedDescriptor(ends[1]))
    Barrier(own, body).begin(on: loop)
  }
}

/// The wait for a manager that has yet to read. *loop thread*
private final class Barrier: @unchecked Sendable {
  private let end: ServiceManager.OwnedDescriptor
  private var body: (() -> Void)?
  private var items: [Loop.Item] = []

  init(_ end: ServiceManager.OwnedDescriptor, _ body: @escaping () -> Void) {
    self.end = end
    self.body = body
  }

  func begin(on loop: Loop) {
    let timer = Loop.Timer(after: .seconds(5)) { [self] _ in finish() }
    loop.add(timer, to: .common)
    items = [timer]
    // The other end is closed, by the manager or because there is none.
    guard let source = try? Loop.DescriptorSource(end.number, for: .read, handler: { [self] _, _ in finish() }) else {
      return finish()
    }
    loop.add(source, to: .common)
    items.append(source)
  }

  private func finish() {
    for item in items { item.invalidate() }
    items = []
    let body = body.take()
    body?()
  }
}

extension ServiceManager.State {
  /// Sends what waits, as far as there is room.
  ///
  /// - Parameter room: Watches for more of it, as decided here: two threads may send.
  fileprivate mutating func flush(to address: SocketAddress, _ room: Loop.DescriptorSource) {
    while !isHeld, let message = waiting.first {
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
    room.enabled = waiting.isEmpty || isHeld ? [] : .write
  }

  /// Connected, the socket tells when there is room; a manager that was restarted is at the address again.
  private func send(_ message: ServiceManager.Message, to address: SocketAddress) throws(SocketError) -> Int {
    if let count = try? send(message), count > 0 { return count }
    if try socket.connect(to: address) == false { return 0 }
    return try send(message)
  }

  private func send(_ message: ServiceManager.Message) throws(SocketError) -> Int {
    guard let descriptor = message.descriptor else { return try socket.send(message.bytes) }
    let result = unsafe message.bytes.withUnsafeBytes { bytes in
      unsafe rondo_send_descriptor(socket.descriptor, bytes.baseAddress, bytes.count, descriptor.number)
    }
    if result == -EAGAIN { return 0 }
    if result < 0 { throw SocketError(.send, result) }
    return Int(result)
  }
}
