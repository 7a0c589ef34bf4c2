import Foundation
import Rondo
import RondoPorts
import RondoSockets

/// The listening side of a local socket port: connections in, messages to the port's inbox.
final class SocketPortReceiver: @unchecked Sendable {
  private let state: Guarded<State>

  private struct State {
    /// Nil once the port is invalid.
    var socket: Socket?
    /// The loop owns it and it owns the port: weak, so that the loop's end is the end of the circle.
    weak var source: SocketSource?
    var connections: [ObjectIdentifier: Connection] = [:]
    weak var loop: Loop?
    var modes: [Loop.Mode] = []
  }

  /// A sender's connection. *loop thread*, but for the weak reference: *the receiver's lock*.
  private final class Connection: @unchecked Sendable {
    let socket: Socket
    let peer: SocketAddress
    var decoder = SocketPortFrameDecoder(limit: SocketPort.maximumMessageLength)
    weak var source: SocketSource?

    init(_ socket: Socket, _ peer: SocketAddress) {
      self.socket = socket
      self.peer = peer
    }
  }

  init(_ socket: Socket) {
    state = Guarded(State(socket: socket))
  }

  var socket: Socket? {
    state.withLock { $0.socket }
  }

  func invalidate() {
    let (old, sources) = state.withLock { state -> (State, [SocketSource]) in
      defer { state = State() }
      return (state, ([state.source] + state.connections.values.map(\.source)).compactMap { $0 })
    }
    for source in sources { source.invalidate() }
    _ = old
  }

  // MARK: - Membership

  func schedule(_ port: SocketPort, in loop: Loop, _ mode: Loop.Mode) {
    state.withLock { state in
      guard let socket = state.socket else { return }
      let source = state.source ?? makeSource(socket, port)
      guard loop.add(source, to: mode) else { return }
      (state.source, state.loop) = (source, loop)
      if !state.modes.contains(mode) { state.modes.append(mode) }
      for connection in state.connections.values { add(connection, port, to: loop, [mode]) }
    }
  }

  func remove(from loop: Loop, _ mode: Loop.Mode) {
    // What the loop lets go of dies after the lock.
    let owned = state.withLock { state -> [SocketSource] in
      guard let source = state.source, state.loop === loop else { return [] }
      let sources = [source] + state.connections.values.compactMap(\.source)
      for source in sources { loop.remove(source, from: mode) }
      state.modes.removeAll { $0 == mode }
      if state.modes.isEmpty { state.loop = nil }
      return sources
    }
    _ = owned
  }

  private func makeSource(_ socket: Socket, _ port: SocketPort) -> SocketSource {
    guard socket.kind == .stream else {
      return SocketSource(socket, for: .data) { source, event in
        if case .received(let bytes, let peer) = event { self.takeDatagram(bytes, peer, port) }
      }
    }
    return SocketSource(socket, for: .accept) { _, event in
      if case .accepted(let socket, let peer) = event { self.welcome(Connection(socket, peer), port) }
    }
  }

  /// Puts a connection's source, made if need be, into modes. Under the lock.
  private func add(_ connection: Connection, _ port: SocketPort, to loop: Loop, _ modes: [Loop.Mode]) {
    let source =
      connection.source
      ?? SocketSource(connection.socket, for: .data) { _, event in self.take(event, of: connection, port) }
    connection.source = source
    for mode in modes { loop.add(source, to: mode) }
  }

  // MARK: - On the loop's thread

  private func welcome(_ connection: Connection, _ port: SocketPort) {
    state.withLock { state in
      guard state.socket != nil, let loop = state.loop else { return }
      state.connections[ObjectIdentifier(connection)] = connection
      add(connection, port, to: loop, state.modes)
    }
  }

  private func take(_ event: SocketSource.Event, of connection: Connection, _ port: SocketPort) {
    switch event {
    case .received(let bytes, _):
      connection.decoder.append(bytes)
      do {
        var messages: [PortMessage] = []
        while let frame = try connection.decoder.next() { messages.append(message(frame, connection.peer)) }
        hand(messages, to: port)
      } catch {
        end(connection)
      }
    case .end, .failed: end(connection)
    default: break
    }
  }

  private func takeDatagram(_ bytes: [UInt8], _ peer: SocketAddress?, _ port: SocketPort) {
    var decoder = SocketPortFrameDecoder(limit: SocketPort.maximumMessageLength)
    decoder.append(bytes)
    // What is no message was for somebody else.
    guard let frame = try? decoder.next(), decoder.buffered == 0 else { return }
    hand([message(frame, peer)], to: port)
  }

  /// A full inbox is given no more until it has room.
  private func hand(_ messages: [PortMessage], to port: SocketPort) {
    guard !messages.isEmpty else { return }
    if !port.inbox.put(messages, hasRoom: { self.setReading(true) }) { setReading(false) }
  }

  private func setReading(_ isReading: Bool) {
    let sources = state.withLock { state in
      let isStream = state.socket?.kind == .stream
      return isStream ? state.connections.values.compactMap(\.source) : [state.source].compactMap { $0 }
    }
    for source in sources { if isReading { source.enable(.data) } else { source.disable(.data) } }
  }

  private func end(_ connection: Connection) {
    let source = state.withLock { state -> SocketSource? in
      state.connections[ObjectIdentifier(connection)] = nil
      return connection.source
    }
    source?.invalidate()
  }

  private func message(_ frame: SocketPortFrame, _ peer: SocketAddress?) -> PortMessage {
    let components = frame.components.compactMap { component -> AnyObject? in
      switch component {
      case .data(let bytes): NSData(data: Data(bytes))
      case .port(let wire): SocketPortSignature(wire, from: nil).map { SocketPort(remote: $0) }
      }
    }
    let sender = SocketPortSignature(frame.sender, from: peer).map { SocketPort(remote: $0) }
    let message = PortMessage(sendPort: sender, receivePort: nil, components: components)
    message.msgid = frame.identifier
    return message
  }
}
