import Foundation
import Rondo
import RondoPorts
import RondoSockets

/// The listening side of a local socket port: connections in, messages to the port's inbox.
final class SocketPortReceiver: BoundedPort, @unchecked Sendable {
  let state: Guarded<State>

  struct State {
    /// Nil once the port is invalid.
    var socket: Socket?
    var limits = SocketPort.Limits()
    var account = PortAccount(limit: SocketPort.Limits().memoryLimit)
    /// The loop owns it and it owns the port: weak, so that the loop's end is the end of the circle.
    weak var source: SocketSource?
    var connections: [ObjectIdentifier: SocketPortConnection] = [:]
    /// Looks for senders that stand still, as long as one has something unfinished. Weak for the same reason.
    weak var watch: Loop.Timer?
    var membership = Membership()
    /// Its sources own it.
    weak var port: SocketPort?
    var acceptError: SocketError?

    var all: [SocketPortConnection] { Array(connections.values) }
  }

  init(_ socket: Socket) {
    state = Guarded(State(socket: socket))
  }

  var socket: Socket? {
    state.withLock { $0.socket }
  }

  var limits: SocketPort.Limits {
    get { state.withLock { $0.limits } }
    set {
      state.withLock { state in
        state.limits = newValue
        state.account = PortAccount(limit: max(newValue.memoryLimit, 2 * SocketPort.messageLimit))
      }
    }
  }

  /// How much memory half messages take, and those that were read and wait for room.
  var account: PortAccount { state.withLock { $0.account } }

  var connectionCount: Int { state.withLock { $0.connections.count } }

  func invalidate() {
    let (old, watch, sources) = state.withLock { state -> (State, Loop.Timer?, [SocketSource]) in
      defer { state = State() }
      return (state, state.watch, ([state.source] + state.all.map(\.source)).compactMap { $0 })
    }
    watch?.invalidate()
    for source in sources { source.invalidate() }
    _ = old
  }

  // MARK: - Membership

  var isValid: Bool { socket != nil }

  /// Calls out.
  func schedule(_ port: SocketPort, in loop: Loop, _ mode: Loop.Mode) {
    port.inbox.limitCost(to: limits.memoryLimit)
    state.withLock { $0.port = port }
    join(loop, mode)
  }

  func enter(_ state: inout State) -> [any LoopMember] {
    guard let socket = state.socket, let port = state.port else { return [] }
    let source = state.source ?? makeSource(socket, port)
    state.source = source
    return [source]
  }

  func others(making: Bool) -> [(any LoopMember)?] {
    if !making { return state.withLock { $0.all.map(\.source) } }
    return state.withLock { $0.all }.map { item(of: $0) }
  }

  private func makeSource(_ socket: Socket, _ port: SocketPort) -> SocketSource {
    SocketSource(socket, for: socket.kind == .stream ? .accept : .data) { source, event in
      if case .datagram(let datagram) = event { return self.takeDatagram(datagram, port) }
      self.hear(event, of: source)
    }
  }

  func item(of connection: SocketPortConnection) -> (any LoopMember)? {
    state.withLock { state in
      if let source = connection.source { return source }
      guard let port = state.port else { return nil }
      let source = SocketSource(connection.socket, for: .data) { _, event in self.take(event, of: connection, port) }
      connection.source = source
      return source
    }
  }

  var bounds: (connections: Int, timeBetweenLooks: Duration?) {
    state.withLock { ($0.limits.connectionLimit, $0.limits.timeBetweenLooks) }
  }

  // MARK: - On the loop's thread

  var subject: String { "A socket port" }

  func fail() { state.withLock { $0.port }?.invalidate() }

  func welcome(_ socket: Socket, from peer: SocketAddress) -> Bool {
    hasRoom() && takeIn(SocketPortConnection(socket, peer, account, limits))
  }

  private func take(_ event: SocketSource.Event, of connection: SocketPortConnection, _ port: SocketPort) {
    switch event {
    case .received(let bytes):
      connection.append(bytes)
      serve(connection, port)
      makeRoom()
      if connection.isUnfinished { watchForStalls() }
    case .end:
      // What waits for room in the inbox was sent before.
      if connection.hasBacklog { connection.hasEnded = true } else { end(connection, .peerGone) }
    case .failed: end(connection, .peerGone)
    default: break
    }
  }

  /// Hands over what there is room for; while there is none, nothing is read.
  private func serve(_ connection: SocketPortConnection, _ port: SocketPort) {
    do {
      while connection.hasBacklog {
        guard port.inbox.hasRoom(orTell: { self.serveAll(port) }) else { return setReading(false) }
        guard let frame = try connection.next() else { break }
        port.inbox.take(message(frame, connection.peer))
      }
      if connection.hasEnded { end(connection, .peerGone) }
    } catch {
      end(connection, .malformed(error))
    }
  }

  /// There is room in the inbox again.
  private func serveAll(_ port: SocketPort) {
    for connection in state.withLock({ $0.all }) where connection.hasBacklog { serve(connection, port) }
    if state.withLock({ state in state.all.allSatisfy { !$0.hasBacklog } }) { setReading(true) }
  }

  private func takeDatagram(_ datagram: Socket.Datagram, _ port: SocketPort) {
    var decoder = FrameDecoder<SocketPortFrame>(limit: SocketPort.messageLimit)
    decoder.append(datagram.bytes)
    // What is no message was for another receiver.
    guard let frame = try? decoder.next(), decoder.buffered == 0 else { return }
    port.inbox.take(message(frame, datagram.sender))
    if !port.inbox.hasRoom(orTell: { self.setReading(true) }) { setReading(false) }
  }

  private func setReading(_ isReading: Bool) {
    let sources = state.withLock { state in
      let isStream = state.socket?.kind == .stream
      return isStream ? state.all.compactMap(\.source) : [state.source].compactMap { $0 }
    }
    for source in sources { if isReading { source.enable(.data) } else { source.disable(.data) } }
  }

  func end(_ connection: SocketPortConnection, _ error: MessagePortError) {
    let source = state.withLock { state -> SocketSource? in
      state.connections[ObjectIdentifier(connection)] = nil
      return connection.source
    }
    connection.end()
    source?.invalidate()
  }

  private func message(_ frame: SocketPortFrame, _ peer: SocketAddress?) -> PortMessage {
    // Beside its bytes, what stands for a message and for each of its components.
    var cost = 1024
    let components = frame.components.compactMap { component -> AnyObject? in
      cost += 1024
      switch component {
      case .data(let bytes):
        cost += bytes.count
        return NSData(data: Data(bytes))
      case .port(let wire): return SocketPortSignature(component: wire, from: peer).map { SocketPort(remote: $0) }
      }
    }
    let sender = SocketPortSignature(sender: frame.sender, from: peer).map { SocketPort(remote: $0) }
    let message = PortMessage(sendPort: sender, receivePort: nil, components: components)
    message.msgid = frame.identifier
    message.cost = cost
    return message
  }
}

extension SocketPortReceiver.State: BoundedState {
  var isValid: Bool { socket != nil }
  var members: [(any LoopMember)?] { [source, watch] }

  mutating func forget() -> [(any LoopMember)?] {
    defer { watch = nil }
    return [watch]
  }
}
