import Glibc
import Rondo
import RondoSockets
import Testing

/// Who connects, who is connected to, and datagrams, in async code.
@Suite struct ListenerTests {
  @Test func `everybody who connects is accepted, one by one`() async throws {
    try await withLoop { loop in
      let listener = try Listener(at: .loopback(), backlog: 200)
      let address = listener.address
      let connecting = Task {
        var clients: [Connection] = []
        for _ in 0..<100 { clients.append(try await Connection.connected(to: address, on: loop)) }
        return clients
      }
      var accepted: [Connection] = []
      for try await connection in try listener.connections(on: loop) {
        #expect(connection.peer?.port != nil)
        accepted.append(connection)
        if accepted.count == 100 { break }
      }
      #expect(try await connecting.value.count == 100)
      // Who has let go of the sequence may begin another, and the listener still listens.
      _ = try await Connection.connected(to: address, on: loop)
      var more = try listener.connections(on: loop).makeAsyncIterator()
      #expect(try await more.next() != nil)
    }
  }

  @Test func `nobody there is thrown, with the reason`() async throws {
    try await withLoop { loop in
      // Bound, and nobody listens.
      let free = try Socket(family: AF_INET, .stream)
      try free.bind(to: .loopback())
      let unused = free.localAddress!
      await #expect(throws: ConnectionError.socket(.refused(unused))) {
        _ = try await Connection.connected(to: unused, on: loop)
      }
      _ = free
    }
  }

  @Test func `datagrams come one by one, with their senders`() async throws {
    try await withLoop { loop in
      let (here, there) = (try Socket.datagram(at: .loopback()), try Socket.datagram(at: .loopback()))
      for datagram: [UInt8] in [[1], [], [2, 3]] {
        try await there.send(datagram: datagram, to: here.localAddress!, on: loop)
      }
      var datagrams = try here.datagrams(on: loop).makeAsyncIterator()
      for expected: [UInt8] in [[1], [], [2, 3]] {
        let datagram = try await datagrams.next()
        #expect(datagram == Socket.Datagram(bytes: expected, sender: there.localAddress))
      }
      // The next one is awaited.
      let waiting = Task { () -> [UInt8]? in
        var datagrams = datagrams
        return try await datagrams.next()?.bytes
      }
      try await there.send(datagram: [4], to: here.localAddress!, on: loop)
      #expect(try await waiting.value == [4])
    }
  }

  @Test func `a datagram waits for room, and is told when the time is over`() async throws {
    try await withLoop { loop in
      let (near, far) = try Socket.pair(.datagram)
      await #expect(throws: ConnectionError.wait(.timedOut)) {
        while true { try await near.send(datagram: [1], on: loop, timeout: .milliseconds(5)) }
      }
      _ = try far.receive()
      try await near.send(datagram: [1], on: loop, timeout: .seconds(60))
    }
  }

  @Test func `an error of one datagram leaves the sequence where it is`() async throws {
    try await withLoop { loop in
      let here = try Socket.datagram(at: .loopback())
      let peer = try Socket.datagram(at: .loopback()).localAddress!
      // Its socket is closed: the kernel answers that nobody is there.
      _ = try here.connect(to: peer)
      var datagrams = try here.datagrams(on: loop).makeAsyncIterator()
      try await here.send(datagram: [1], on: loop)
      await #expect(throws: ConnectionError.socket(.refused(nil))) { try await datagrams.next() }
      let there = try Socket.datagram(at: peer)
      try await there.send(datagram: [2], to: here.localAddress!, on: loop)
      #expect(try await datagrams.next()?.bytes == [2])
    }
  }

  @Test func `a task that sends datagrams without a pause lets others run, and can be cancelled`() async throws {
    try await withLoop { loop in
      let (near, far) = (try Socket.datagram(at: .loopback()), try Socket.datagram(at: .loopback()))
      let address = far.localAddress!
      let flooding = Task(executorPreference: loop) {
        while true { try await near.send(datagram: [1], to: address, on: loop) }
      }
      // It has begun, and so holds the loop's thread if it never suspends.
      while try far.receive() == .nothing { try await Task.sleep(for: .milliseconds(1)) }
      try await loop.call {}
      flooding.cancel()
      await #expect(throws: ConnectionError.wait(.cancelled)) { try await flooding.value }
    }
  }
}
