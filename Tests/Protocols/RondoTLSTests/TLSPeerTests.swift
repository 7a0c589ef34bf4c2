import Rondo
import RondoSockets
import RondoTLS
import RondoTesting
import Synchronization
import Testing

/// Secured connections with peers that send what is no data.
@Suite(.timeLimit(.minutes(5))) struct TLSPeerTests {
  @Test func `a peer that asks for new keys again and again, and reads nothing, is sent nothing`() throws {
    try withSimulation { simulation in
      let stage = try Flooded(simulation)
      let count = 3_000
      let answer = Mutex(0)
      stage.client.start {
        while let bytes = try await stage.connection.read() { answer.withLock { $0 += bytes.count } }
      }
      stage.client.start {
        for _ in 0..<count {
          stage.peer.renewKeys()
          stage.peer.write("a")
          try await stage.connection.write(stage.peer.output())
        }
      }
      let isOver = simulation.run(until: { stage.text.utf8.count == count })
      simulation.run(for: .seconds(1))
      #expect(isOver && answer.withLock { $0 } == 0)
    }
  }

  @Test func `records without data let others have their turn`() throws {
    try withSimulation { simulation in
      let stage = try Ticketed(simulation)
      let before = stage.client.loop.statistics.jobCallouts
      let heard = Mutex<[UInt8]?>(nil)
      stage.client.start {
        let bytes = try await stage.near.read()
        heard.withLock { $0 = bytes }
      }
      stage.server.start {
        for _ in 0..<500 { stage.peer.sendTicket() }
        stage.peer.write("hello")
        try await stage.far.write(stage.peer.output())
      }
      let isOver = simulation.run(until: { heard.withLock { $0 != nil } })
      #expect(isOver && heard.withLock { $0 } == Array("hello".utf8))
      let jobs = stage.client.loop.statistics.jobCallouts - before
      #expect(jobs >= 10)
    }
  }

  @Test func `a write does not wait for the rest of a message that has come in part`() throws {
    try withSimulation { simulation in
      let stage = try Ticketed(simulation)
      // The first record and a half of a ticket, to a task that reads.
      stage.peer.sendTicket()
      let ticket = stage.peer.output()
      try #require(ticket.count > 1_200)
      let reader = stage.client.start { _ = try await stage.near.read() }
      stage.server.start { try await stage.far.write(ticket[..<800]) }
      simulation.run(for: .seconds(1))
      reader.cancel()
      simulation.run(for: .seconds(1))

      stage.client.start { try await stage.near.write("hello") }
      stage.server.start { for try await bytes in stage.far { stage.peer.take(bytes) } }
      let isWritten = simulation.run(until: { stage.peer.text == "hello" })
      #expect(isWritten)

      let heard = Mutex<[UInt8]?>(nil)
      stage.client.start {
        let bytes = try await stage.near.read()
        heard.withLock { $0 = bytes }
      }
      stage.server.start {
        stage.peer.write("and back")
        try await stage.far.write(ticket[800...] + stage.peer.output())
      }
      let isRead = simulation.run(until: { heard.withLock { $0 == Array("and back".utf8) } })
      #expect(isRead)
    }
  }

  @Test func `a deadline ends the wait for a peer that sends no data, never early`() async throws {
    try await withPlain { loop, near, far in
      let peer = OpenSSLEnd(isServer: true)
      let context = try Certificates.client()
      async let secured = near.secured(as: "rondo.test", by: context)
      try await peer.shakeHands(over: far)
      let client = try await secured
      let flood = Task {
        while true {
          for _ in 0..<20 { peer.sendTicket() }
          try await far.write(peer.output())
        }
      }
      let deadline = loop.clock.now + .milliseconds(300)
      client.deadline = deadline
      let error = await failure { while try await client.read() != nil {} }
      #expect(error == .wait(.timedOut) && loop.clock.now >= deadline)
      client.close()
      _ = await flood.result
    }
  }

  @Test func `a deadline that has passed ends a read that finds no data in what comes`() async throws {
    try await withPlain { loop, near, far in
      let peer = OpenSSLEnd(isServer: true)
      let context = try Certificates.client()
      async let secured = near.secured(as: "rondo.test", by: context)
      try await peer.shakeHands(over: far)
      let client = try await secured
      // Fewer than what a socket takes at once.
      for _ in 0..<40 { peer.sendTicket() }
      peer.write("hello")
      try await far.write(peer.output())
      client.deadline = loop.clock.now - .seconds(1)
      let error = await failure { _ = try await client.read() }
      #expect(error == .wait(.timedOut))
      client.deadline = nil
      let bytes = try await client.read()
      #expect(bytes == Array("hello".utf8))
    }
  }

  @Test func `a server that says goodbye in the handshake is told apart`() async throws {
    try await withPlain { _, near, far in
      // An alert in plain text: close_notify.
      try await far.write([21, 3, 3, 0, 2, 1, 0])
      let error = await failure { _ = try await near.secured(as: "rondo.test", by: Certificates.client()) }
      #expect(error == .tls(.truncated))
    }
  }
}

/// A client that is secured, and a server that is an end by OpenSSL itself, after the handshake.
private final class Ticketed: Sendable {
  let server: Host
  let client: Host
  let peer = OpenSSLEnd(isServer: true)
  private let ends = Mutex<(client: Connection?, server: Connection?)>((nil, nil))

  init(_ simulation: Simulation) throws {
    (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
    let address = try SocketAddress(parsing: "10.0.0.1:443")
    let context = try Certificates.client()
    server.start { [self] in
      let listener = try Listener(at: address)
      try await listener.serve(on: self.server.loop) { connection in
        try await self.peer.shakeHands(over: connection)
        self.ends.withLock { $0.server = connection }
        try await Task.sleep(for: .seconds(3_600), clock: self.server.loop.clock)
      }
    }
    client.start { [self] in
      let plain = try await Connection.connected(to: address, on: self.client.loop)
      let connection = try await plain.secured(as: "rondo.test", by: context)
      self.ends.withLock { $0.client = connection }
    }
    let isConnected = simulation.run(until: { self.ends.withLock { $0.client != nil && $0.server != nil } })
    #expect(isConnected)
  }

  var near: Connection { ends.withLock { $0.client! } }
  var far: Connection { ends.withLock { $0.server! } }
}
