import Glibc
import Rondo
import RondoSockets
import RondoTesting
import Testing

/// Idle limits that look before they fire.
@Suite struct IdleTests {
  @Test func `bytes that wait put it off, and nothing else does`() throws {
    try withVirtualLoop { virtual in
      let stage = Stage(virtual.loop)
      let (near, far) = try Socket.pair()
      let source = try Loop.DescriptorSource(near.descriptor, for: .read) { _, _ in }
      stage.loop.add(source)
      let idle = stage.loop.makeIdleTimeout(of: source, after: .seconds(10)) { stage.note("idle") }
      _ = try far.send([1])
      virtual.advance(by: .seconds(25))
      #expect(stage.text == "")
      #expect(try near.receive() == .bytes([1]))
      virtual.advance(by: .seconds(4))
      #expect(stage.text == "")
      virtual.advance(by: .seconds(1))
      #expect(stage.text == "idle")
      stage.loop.discard(idle)
      source.invalidate()
    }
  }

  @Test func `who is not read from is idle, and so is who has gone`() throws {
    try withVirtualLoop { virtual in
      let stage = Stage(virtual.loop)
      let (near, far) = try Socket.pair()
      let source = try Loop.DescriptorSource(near.descriptor, for: .read) { _, _ in }
      stage.loop.add(source)
      source.disable(.read)
      _ = try far.send([1])
      let idle = stage.loop.makeIdleTimeout(of: source, after: .seconds(10)) { stage.note("idle") }
      virtual.advance(by: .seconds(10))
      #expect(stage.text == "idle")
      stage.loop.arm(idle, after: .seconds(10))
      source.enable(.read)
      source.invalidate()
      virtual.advance(by: .seconds(10))
      #expect(stage.text == "idle idle")
    }
  }

  @Test func `after a stall longer than the limit, of 100 clients with bytes waiting none is cut`() throws {
    try onLoopThread { stage in
      let loop = stage.loop
      let served = Later<Set<Int>>([])
      let cut = Later(0)
      var far: [Socket] = []
      var idle: [Loop.Timeout] = []
      for client in 0..<100 {
        let (near, other) = try Socket.pair()
        far.append(other)
        let source = SocketSource(near, for: .data) { source, event in
          if case .received = event { served.value.insert(client) }
          source.invalidate()
        }
        loop.add(source)
        idle.append(
          loop.makeIdleTimeout(of: source, after: .milliseconds(10)) {
            // Who was served has nothing waiting any more, and the machine may be slow.
            if !served.value.contains(client) { cut.value += 1 }
          })
      }
      for socket in far { _ = try socket.send([1]) }
      usleep(30_000)
      // All timeouts are due, and all descriptors ready.
      stage.look()
      #expect(served.value.count == 100 && cut.value == 0)
    }
  }
}
