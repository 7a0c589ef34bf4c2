public import Rondo

extension Connection {
  /// Connects to `address`. Any thread.
  ///
  /// If the queue of a Unix-domain listener is full, it tries again every few milliseconds.
  ///
  /// - Parameters:
  ///   - loop: Watches the socket.
  ///   - options: Set before it connects.
  ///   - timeout: The longest wait; nil for the kernel's limit.
  /// - Throws: `.socket(.refused)` and other errors of connect(2), `.wait(.timedOut)`, `.wait(.cancelled)`.
  public nonisolated(nonsending) static func connected(
    to address: SocketAddress, on loop: Loop, options: [Socket.Option] = [], timeout: Duration? = nil,
    in mode: Loop.Mode = .common
  ) async throws(ConnectionError) -> Connection {
    let socket = try asking { () throws(SocketError) in
      let socket = try Socket(family: address.family, .stream)
      for option in options { try socket.set(option) }
      return socket
    }
    let deadline = loop.deadline(after: timeout)
    var pause = Backoff.connecting
    while true {
      let left = loop.timeLeft(until: deadline)
      switch try asking({ () throws(SocketError) in try socket.tryToConnect(to: address) }) {
      case .connected: break
      case .busy:
        try await loop.pause(for: pause.next(), atMost: left)
        continue
      case .underWay:
        do {
          try await loop.writable(socket.descriptor, timeout: left, in: mode)
        } catch {
          throw .wait(error)
        }
        if let error = socket.takeError(at: address) { throw ConnectionError(error) }
      }
      return try Connection(socket, on: loop, in: mode)
    }
  }

  /// Makes two connections to each other, of Unix-domain sockets. See socketpair(2).
  ///
  /// - Throws: `.socket(.exhausted)` if no descriptor is left, `.socket(.noMemory)`.
  public static func pair(
    on loop: Loop, in mode: Loop.Mode = .common
  ) throws(ConnectionError) -> (Connection, Connection) {
    let (one, other) = try asking { () throws(SocketError) in try Socket.pair() }
    return (try Connection(one, on: loop, in: mode), try Connection(other, on: loop, in: mode))
  }
}
