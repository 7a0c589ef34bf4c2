import CLinux
import Glibc
import Rondo
import RondoSockets
import RondoTesting
import Testing

/// A receive may stop before bytes that are there already: a connection reads them too, without an edge.
@Suite(.timeLimit(.minutes(10))) struct ConnectionBoundaryTests {
  /// Answers the first of two pieces, and returns both.
  private static func converse(_ connection: Connection) async throws -> String {
    var text = ""
    for _ in 0..<2 {
      text += String(decoding: try await connection.read() ?? [], as: UTF8.self) + " "
      try await connection.write("ok")
    }
    return text
  }

  /// Has `send` send while the loop's thread is busy, so that the loop tells of all of it at once.
  private func conversation(
    _ near: Connection, _ far: Socket, on loop: Loop, _ send: @escaping @Sendable (CInt) -> Void
  ) async throws -> String {
    let talk = Task(executorPreference: loop) {
      // From its first wait on, the loop watches the socket.
      _ = try await near.read()
      send(far.descriptor)
      return try await Self.converse(near)
    }
    for _ in 0..<10 { try await loop.call {} }
    _ = try far.send(Array("first"))
    return try await talk.value
  }

  @Test func `bytes behind an urgent mark of TCP are read`() async throws {
    try await withLoop { loop in
      let listener = try Listener(at: .loopback())
      let far = try Socket(family: AF_INET, .stream)
      try far.set(.noDelay)
      _ = try far.connect(to: listener.address)
      var incoming = try listener.connections(on: loop).makeAsyncIterator()
      let near = try await incoming.next()!
      let text = try await conversation(near, far, on: loop) { far in
        _ = unsafe Glibc.send(far, "abc", 3, 0)
        _ = rondo_send_urgent(far, 33)
        _ = unsafe Glibc.send(far, "def", 3, 0)
      }
      #expect(text == "abc def ")
    }
  }

  @Test func `bytes behind a message with a descriptor are read`() async throws {
    try await withLoop { loop in
      let (near, far) = try Socket.pair()
      let connection = try Connection(near, on: loop)
      let text = try await conversation(connection, far, on: loop) { far in
        _ = sendDescriptor(far, with: "abc")
        _ = unsafe Glibc.send(far, "def", 3, 0)
      }
      #expect(text == "abc def ")
    }
  }

  @Test func `a simulated connection reads what is behind an urgent mark`() {
    withSimulation { simulation in
      let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let (serverLoop, clientLoop) = (server.loop, client.loop)
      let address = try! SocketAddress(parsing: "10.0.0.1:7007")
      let trace = Trace()
      server.start {
        try await Listener(at: address).serve(on: serverLoop) { trace.note(try await Self.converse($0)) }
      }
      client.start {
        let connection = try await Connection.connected(to: address, on: clientLoop)
        try await clientLoop.clock.sleep(for: .seconds(1))
        let socket = connection.socket!
        _ = try socket.send(Array("abc"))
        _ = rondo_send_urgent(socket.descriptor, 33)
        _ = try socket.send(Array("def"))
        try await clientLoop.clock.sleep(for: .seconds(60))
      }
      simulation.run(for: .seconds(10))
      #expect(trace.text == "abc def ")
    }
  }
}

/// Sends a text, and a descriptor with it: SCM_RIGHTS of unix(7).
private func sendDescriptor(_ socket: CInt, with text: String) -> Int {
  // struct cmsghdr and a descriptor, as CMSG_DATA lays them out.
  var control = [MemoryLayout<cmsghdr>.size + 4, Int(SOL_SOCKET) | 1 << 32, Int(socket)]
  var bytes = Array(text.utf8)
  return unsafe bytes.withUnsafeMutableBytes { bytes in
    unsafe control.withUnsafeMutableBytes { control in
      var piece = unsafe iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
      return unsafe withUnsafeMutablePointer(to: &piece) { piece in
        var message = unsafe msghdr(
          msg_name: nil, msg_namelen: 0, msg_iov: piece, msg_iovlen: 1, msg_control: control.baseAddress,
          msg_controllen: control.count, msg_flags: 0)
        return unsafe sendmsg(socket, &message, 0)
      }
    }
  }
}
