import Rondo
import RondoSockets
import RondoTesting
import Synchronization
import Testing

// The examples of RondoSockets.docc, and of DescriptorsAndServers where they need sockets, compiled and run.
// `ExampleTextTests` sees to it that they stand in the documentation as they stand here.

/// What the examples have done.
private final class Log: Sendable {
  private let notes = Mutex<[String]>([])

  func note(_ text: String) { notes.withLock { $0.append(text) } }

  var text: String { notes.withLock { $0.joined(separator: ", ") } }
}

@Suite struct DocumentationExamplesTests {
  @Test func `RondoSockets: a server that shouts back, and its client`() throws {
    let log = Log()
    try onThreadOfItsOwn {
      let loop = Loop.current

      let listener = SocketSource(try .listening(at: .loopback()), for: .accept) { _, event in
        guard case .accepted(let socket, from: _) = event else { return }
        let peer = SocketSource(socket, for: .data) { peer, event in
          switch event {
          case .received(let bytes, from: _):
            try? peer.send(Array(String(decoding: bytes, as: UTF8.self).uppercased().utf8))
          case .end, .failed: peer.invalidate()
          default: break
          }
        }
        loop.add(peer)
      }
      loop.add(listener)

      let address = listener.socket!.localAddress!
      let client = try SocketSource(connectingTo: address, timeout: .seconds(5), for: .data) { client, event in
        switch event {
        case .connected: try? client.send(Array("hello".utf8))
        case .received(let bytes, from: _):
          log.note(String(decoding: bytes, as: UTF8.self))
          client.invalidate()
          loop.stop()
        default: log.note("\(event)")
        }
      }
      loop.add(client)
      loop.run()
    }
    #expect(log.text == "HELLO")
  }

  @Test func `RondoSockets: async code`() async throws {
    let log = Log()
    let thread = try LoopThread(name: "example")
    let loop = thread.loop

    let listener = try Socket.listening(at: .loopback())
    async let echoing: Void = {
      for try await (socket, _) in try listener.connections(on: loop) {
        for try await piece in try socket.data(on: loop) {
          try await socket.send(piece, on: loop, timeout: .seconds(30))
        }
        break
      }
    }()
    let client = try await Socket.connected(to: listener.localAddress!, on: loop, timeout: .seconds(5))
    try await client.send(Array("hello".utf8), on: loop)
    try client.finishSending()
    for try await piece in try client.data(on: loop) { log.note(String(decoding: piece, as: UTF8.self)) }
    try await echoing

    await thread.end()
    #expect(log.text == "hello")
  }

  @Test func `RondoSockets: addresses`() throws {
    let addresses = ["127.0.0.1:80", "[::1]:80", "[fe80::1%2]:80", "/run/echo.socket", "@abstract"]
    for text in addresses {
      let address = try SocketAddress(parsing: text)
      precondition(address.description == text)
    }
  }

  @Test func `DescriptorsAndServers: accepting`() throws {
    let log = Log()
    try onThreadOfItsOwn {
      let loop = Loop.current

      let listener = SocketSource(try .listening(at: .loopback()), for: .accept) { _, event in
        switch event {
        case .accepted(let socket, from: let peer): log.note("hello \(peer.family == socket.localAddress?.family)")
        case .acceptPaused(let error, for: let pause): log.note("\(error), for \(pause)")
        default: break
        }
      }
      loop.add(listener)

      let client = try Socket(family: listener.socket!.localAddress!.family, .stream)
      _ = try client.connect(to: listener.socket!.localAddress!)
      while log.text.isEmpty { loop.run(for: .seconds(60), returnAfterSourceHandled: true) }
    }
    #expect(log.text == "hello true")
  }

  @Test func `DescriptorsAndServers: a peer that does not read, in virtual time`() throws {
    try withVirtualLoop { virtual in
      let loop = virtual.loop
      let (near, far) = try Socket.pair()
      let source = SocketSource(near, for: .data) { source, event in
        switch event {
        case .received(let bytes, from: _):
          try? source.send(bytes)
          if source.queuedByteCount > 0 { source.disable(.data) }
        case .sent: source.enable(.data)
        case .end, .failed: source.invalidate()
        default: break
        }
      }
      loop.add(source)

      #expect(try far.send([1, 2, 3]) == 3)
      virtual.advance(by: .seconds(1))
      #expect(try far.receive() == .nothing)
      virtual.makeReady(near.descriptor, .read)
      virtual.runUntilIdle()
      #expect(try far.receive() == .bytes([1, 2, 3]))
      try far.finishSending()
      virtual.makeReady(near.descriptor, .read, at: .seconds(5))
      virtual.advance(by: .seconds(10))
      #expect(!source.isValid)
    }
  }
}

/// Runs `body` on a thread that has a loop of its own, and ends with it.
private func onThreadOfItsOwn(_ body: @Sendable () throws -> Void) throws {
  let thread = try LoopThread(name: "example")
  defer { thread.stop() }
  try thread.sync { try body() }
}
