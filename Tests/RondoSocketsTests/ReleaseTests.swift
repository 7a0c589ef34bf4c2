import CLinux
import Glibc
import Rondo
import RondoSockets
import RondoTestSupport
import RondoTesting
import Testing

/// What happens to a connection, or to descriptors, that nobody closes.
@Suite struct ReleaseTests {
  @Test(arguments: [true, false])
  func `a peer reads all that was written by one that has unread bytes, closed or released`(
    _ isClosed: Bool
  ) async throws {
    try await withLoop { loop in
      let listener = try Listener(at: .loopback())
      var incoming = try listener.connections(on: loop).makeAsyncIterator()
      let client = try await Connection.connected(to: listener.address, on: loop)
      try await client.write([UInt8](repeating: 1, count: 1_000))
      do {
        let connection = try await incoming.next()!
        while rondo_is_ready(connection.socket!.descriptor, 0) == 0 { await Task.yield() }
        try await connection.write([UInt8](repeating: 2, count: 10_000))
        if isClosed { connection.close() }
      }
      var count = 0
      while let piece = try await client.read() { count += piece.count }
      #expect(count == 10_000)
    }
  }

  @Test func `a simulated connection that is released ends as one that is closed`() {
    func play(isClosed: Bool) -> String {
      withSimulation { simulation in
        let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
        let (serverLoop, clientLoop) = (server.loop, client.loop)
        let address = try! SocketAddress(parsing: "10.0.0.1:7007")
        let trace = Trace()
        server.start {
          var incoming = try Listener(at: address).connections(on: serverLoop).makeAsyncIterator()
          let connection = try await incoming.next()!
          try await serverLoop.clock.sleep(for: .seconds(1))
          try await connection.write("bye")
          if isClosed { connection.close() }
        }
        client.start {
          let connection = try await Connection.connected(to: address, on: clientLoop)
          try await connection.write("unread")
          try await clientLoop.clock.sleep(for: .seconds(5))
          do {
            while let piece = try await connection.read() { trace.note(String(decoding: piece, as: UTF8.self)) }
            trace.note("end")
          } catch { trace.note("\(error)") }
        }
        simulation.run(for: .seconds(10))
        return trace.text
      }
    }
    let (closed, released) = (play(isClosed: true), play(isClosed: false))
    #expect(closed == "bye end")
    #expect(released == closed)
  }

  @Test func `a pipe blocks again for others when its connection has ended`() async throws {
    try await withLoop { loop in
      var ends: [CInt] = [0, 0]
      _ = unsafe rondo_pipe(&ends)
      // Another process's number for the same file.
      let other = dup(ends[0])
      do {
        let connection = try Connection(reading: ends[0], on: loop)
        #expect(fcntl(other, F_GETFL) & O_NONBLOCK != 0)
        connection.close()
      }
      await until { fcntl(other, F_GETFL) & O_NONBLOCK == 0 }
      close(other)
      close(ends[1])
    }
  }

  @Test func `a pair of which the loop refuses one stays the caller's, unwatched and unchanged`() async throws {
    try await withLoop { loop in
      var ends: [CInt] = [0, 0]
      _ = unsafe rondo_pipe(&ends)
      let file = unsafe open("/proc/self/exe", O_RDONLY)
      let before = try await loop.call { loop.inventory.items.count }
      let made = try? Connection(reading: ends[0], writing: file, on: loop)
      #expect(made == nil)
      #expect(fcntl(ends[0], F_GETFL) & O_NONBLOCK == 0)
      let after = try await loop.call { loop.inventory.items.count }
      #expect(after == before)
      for descriptor in ends + [file] { close(descriptor) }
    }
  }

  @Test func `a terminal that nobody has open any more is at its end`() async throws {
    try await withLoop { loop in
      let master = unsafe open("/dev/ptmx", O_RDWR | O_NOCTTY)
      try #require(master >= 0)
      var (unlocked, number) = (CInt(0), CInt(0))
      // TIOCSPTLCK, TIOCGPTN
      _ = unsafe ioctl(master, 0x4004_5431, &unlocked)
      _ = unsafe ioctl(master, 0x8004_5430, &number)
      let slave = unsafe open("/dev/pts/\(number)", O_RDWR | O_NOCTTY)
      try #require(slave >= 0)
      let connection = try Connection(reading: master, on: loop)
      _ = unsafe write(slave, "bye", 3)
      #expect(try await connection.read() == Array("bye"))
      close(slave)
      #expect(try await connection.read() == nil)
    }
  }

  @Test func `the callbacks of a source are told by their names`() async {
    #expect("\([.read, .write] as SocketSource.Callbacks)" == "read|write")
    await #expect(processExitsWith: .failure) {
      SocketSource(try .pair().0, for: .read) { _, _ in }.enable(.write)
    }
  }

  @Test func `a path that fills its room to the last byte is told as it is, and can be connected to`() throws {
    let path = "/tmp/" + String(repeating: "x", count: 103 - String(getpid()).count) + String(getpid())
    try #require(path.utf8.count == 108)
    defer { unsafe unlink(path) }
    let raw = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0)
    let bytes = [UInt8(AF_UNIX), 0] + Array(path)
    let bound = unsafe bytes.withUnsafeBytes { bytes in
      unsafe bind(raw, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
    #expect(bound == 0)
    let here = try Socket(owning: raw)
    let name = try #require(here.localAddress)
    #expect("\(name)" == path)
    let there = try Socket(family: AF_UNIX, .datagram)
    #expect(try there.send([1], to: name) == 1)
    let received = try here.receive()
    #expect(received == .datagram(.init(bytes: [1])))
  }
}
