import Foundation
import Rondo
import RondoPorts
import RondoSockets

/// The listening side of a local socket port: connections in, messages to the port's inbox.
final class SocketPortReceiver: CompositeItem, @unchecked Sendable {
  let state: Guarded<State>

  struct State {
    /// Nil once the port is invalid.
    var socket: Socket?
    var limits = SocketPort.Limits()
    var account = PortAccount(limit: SocketPort.Limits().maximumHeldBytes)
    /// The loop owns it and it owns the port: weak, so that the loop's end is the end of the circle.
    weak var source: SocketSource?
    var connections: [ObjectIdentifier: SocketPortConnection] = [:]
    /// Looks for senders that stand still, as long as one has something unfinished. Weak for the same reason.
    weak var watch: Loop.Timer?
    var membership = Membership()
    /// Its sources own it.
    weak var port: SocketPort?
    /// Whether no descriptor was left for the last connection.
    var isShort = false

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
        state.account = PortAccount(limit: max(newValue.maximumHeldBytes, 2 * SocketPort.maximumMessageLength))
      }
    }
  }

  /// How much memory half messages take, and those that were read and wait for room.
  var heldByteCount: Int { state.withLock { $0.account.held } }

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
    port.inbox.limitCost(to: limits.maximumHeldBytes)
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
    let (connections, sources, port) = state.withLock { ($0.all, $0.all.map(\.source), making ? $0.port : nil) }
    return port.map { port in connections.map { source(of: $0, port) } } ?? sources
  }

  private func makeSource(_ socket: Socket, _ port: SocketPort) -> SocketSource {
    SocketSource(socket, for: socket.kind == .stream ? .accept : .data) { source, event in
      switch event {
      case .datagram(let datagram): self.takeDatagram(datagram, port)
      case .accepted(let socket, let peer): if !self.welcome(socket, peer, port) { source.noteRefusal() }
      case .acceptPaused(let error, _): self.noteAcceptError(error, port)
      // A datagram may fail alone.
      case .failed(let error) where !source.isValid:
        warn("A socket port can receive nothing more, and becomes invalid: \(error).")
        port.invalidate()
      default: break
      }
    }
  }

  /// A connection's source, made if need be.
  private func source(of connection: SocketPortConnection, _ port: SocketPort) -> SocketSource {
    state.withLock { _ in
      if let source = connection.source { return source }
      let source = SocketSource(connection.socket, for: .data) { _, event in self.take(event, of: connection, port) }
      connection.source = source
      return source
    }
  }

  // MARK: - On the loop's thread

  private func noteAcceptError(_ error: SocketError, _ port: SocketPort) {
    let wasShort = state.withLock { state in
      defer { state.isShort = true }
      return state.isShort
    }
    if !wasShort { warn("A socket port cannot let its next sender in: \(error). \(descriptorAdvice)") }
  }

  /// - Returns: False if the peer was sent away.
  private func welcome(_ socket: Socket, _ peer: SocketAddress, _ port: SocketPort) -> Bool {
    let (account, isFull) = state.withLock { state in
      state.isShort = false
      return (state.account, state.connections.count >= state.limits.maximumConnections)
    }
    if isFull {
      guard let quiet = quietConnection() else {
        watchForStalls()
        return false
      }
      end(quiet)
    }
    let connection = SocketPortConnection(socket, peer, account)
    let isIn = state.withLock { state in
      guard state.socket != nil, state.membership.loop != nil else { return false }
      state.connections[ObjectIdentifier(connection)] = connection
      return true
    }
    guard isIn else { return false }
    let source = source(of: connection, port)
    place(source)
    return true
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
      if connection.hasBacklog { connection.hasEnded = true } else { end(connection) }
    case .failed: end(connection)
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
      if connection.hasEnded { end(connection) }
    } catch {
      end(connection)
    }
  }

  /// There is room in the inbox again.
  private func serveAll(_ port: SocketPort) {
    for connection in state.withLock({ $0.all }) where connection.hasBacklog { serve(connection, port) }
    if state.withLock({ state in state.all.allSatisfy { !$0.hasBacklog } }) { setReading(true) }
  }

  private func takeDatagram(_ datagram: Socket.Datagram, _ port: SocketPort) {
    var decoder = FrameDecoder<SocketPortFrame>(limit: SocketPort.maximumMessageLength)
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

  private func end(_ connection: SocketPortConnection) {
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

extension SocketPortReceiver.State: CompositeState {
  var members: [(any LoopMember)?] { [source, watch] }

  mutating func forget() -> [(any LoopMember)?] {
    defer { watch = nil }
    return [watch]
  }
}

// MARK: - Bounds

extension SocketPortReceiver {
  /// Ends those connections that have stood still longest, until what is held is no more than the limit.
  private func makeRoom() {
    while true {
      let victim = state.withLock { state in
        state.account.isExceeded
          ? state.all.filter { $0.share.held > 0 }.min { $0.share.age < $1.share.age } : nil
      }
      guard let victim else { return }
      end(victim)
    }
  }

  /// The connection that has been quiet longest, if one has been for `maximumIdleTime`.
  private func quietConnection() -> SocketPortConnection? {
    let (connections, limits, loop) = state.withLock { ($0.all, $0.limits, $0.membership.loop) }
    guard let now = loop?.clock.now else { return nil }
    let quiet = connections.filter { $0.isStill(for: limits.maximumIdleTime, at: now) && !$0.hasBacklog }
    return quiet.min { $0.share.age < $1.share.age }
  }

  /// Looks from time to time for senders that stand still.
  private func watchForStalls() {
    let watch = state.withLock { state -> Loop.Timer? in
      guard let time = state.limits.timeBetweenLooks, state.socket != nil, state.watch == nil,
        state.membership.loop != nil
      else { return nil }
      let watch = Loop.Timer(every: Duration(rounding: time)) { _ in self.lookForStalls() }
      state.watch = watch
      return watch
    }
    if let watch { place(watch) }
  }

  /// Ends connections that have stood still since the last look, if there is something unfinished.
  private func lookForStalls() {
    let (connections, watch, limits, loop) = state.withLock { ($0.all, $0.watch, $0.limits, $0.membership.loop) }
    guard let now = loop?.clock.now else { return }
    var isNeeded = connections.count >= limits.maximumConnections
    for connection in connections {
      // While the inbox is full, no connection is read.
      let isRead = connection.source?.enabled.contains(.data) == true
      let isTooSlow = connection.isTooSlow(by: limits, isRead: isRead, at: now)
      guard connection.isUnfinished, isRead else { continue }
      if isTooSlow { end(connection) } else { isNeeded = true }
    }
    if isNeeded, let time = limits.timeBetweenLooks {
      // However late this look is, the next one is not too early.
      watch?.setFireDate(after: Duration(rounding: time))
      return
    }
    state.withLock { $0.watch = nil }
    watch?.invalidate()
  }
}
