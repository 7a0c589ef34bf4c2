public import Rondo

extension Socket {
  /// Sends all bytes, and suspends while the socket has no room. Any thread.
  ///
  /// - Parameters:
  ///   - loop: Watches the socket for room.
  ///   - timeout: The longest wait for room, for each wait; nil for no limit.
  /// - Throws: `.socket(.reset)` and other errors of send(2), `.wait(.timedOut)`, `.wait(.cancelled)`. Part of the
  ///   bytes may have been sent.
  public nonisolated(nonsending) func send(
    _ bytes: [UInt8], on loop: Loop, timeout: Duration? = nil, in mode: Loop.Mode = .common
  ) async throws(StreamError) {
    let record = record(on: loop, in: mode)
    var lease: ReadinessLease?
    var rest = bytes[...]
    try await record.pay(for: .write)
    while true {
      if record.begin(.write) {
        rest = rest.dropFirst(try asking { () throws(SocketError) in try send(rest) })
        if rest.isEmpty { return record.mayGoOn(.write) }
      }
      // The first one that is there has the call made again: what was known before was of no registration.
      if lease != nil {
        try await record.wait(for: .write, timeout: timeout)
      } else {
        lease = try self.lease(on: loop, in: mode)
      }
    }
  }

  /// Makes a stream socket and connects it to `address`. Any thread.
  ///
  /// - Parameters:
  ///   - loop: Watches the socket until it is connected.
  ///   - options: Set before it connects.
  ///   - timeout: The longest wait; nil for the kernel's limit.
  /// - Throws: `.socket(.refused)` and other errors of connect(2), `.wait(.timedOut)`, `.wait(.cancelled)`.
  public nonisolated(nonsending) static func connected(
    to address: SocketAddress, on loop: Loop, options: [Option] = [], timeout: Duration? = nil,
    in mode: Loop.Mode = .common
  ) async throws(StreamError) -> Socket {
    let (socket, isThere) = try asking { () throws(SocketError) in
      let socket = try Socket(family: address.family, .stream)
      for option in options { try socket.set(option) }
      return (socket, try socket.connect(to: address))
    }
    if isThere { return socket }
    try await socket.waitForRoom(on: loop, timeout, mode)
    if let error = socket.takeError(at: address) { throw .socket(error) }
    return socket
  }

  private nonisolated(nonsending) func waitForRoom(
    on loop: Loop, _ timeout: Duration?, _ mode: Loop.Mode
  ) async throws(StreamError) {
    do {
      try await loop.writable(descriptor, timeout: timeout, in: mode)
    } catch {
      throw .wait(error)
    }
  }
}
