import Foundation
import Testing

/// The servers that the examples show, attacked: the README's, and one of callbacks with an idle limit.
@Suite struct DaemonTests {
  private static let servers = ["async-echo", "echo-daemon"]
  private let pattern = (0..<65_521).map { UInt8($0 % 251) }

  @Test(arguments: servers) func `a client that never reads costs the daemon no memory, and nobody else anything`(
    _ name: String
  ) throws {
    let daemon = try Daemon(name)
    let honest = try Client(daemon)
    #expect(try honest.isServed())
    let before = try daemon.residentMemory
    let room = try kernelRoom() + 1 << 20
    let stalled = try (1...8).map { _ in
      let client = try Client(daemon)
      #expect(try client.flood(with: pattern, limit: room) <= room)
      #expect(try honest.isServed())
      return client
    }
    #expect(try daemon.residentMemory - before < 8 << 20)
    #expect(try Client(daemon).isServed())
    withExtendedLifetime(stalled) {}
  }

  @Test(arguments: servers) func `a client that reads late gets every byte, in order`(_ name: String) throws {
    let daemon = try Daemon(name)
    let client = try Client(daemon)
    let taken = try client.flood(with: pattern, limit: kernelRoom() + 1 << 20)
    let echo = try client.receive(taken)
    try #require(echo.count == taken)
    let starts = stride(from: 0, to: taken, by: pattern.count)
    #expect(starts.allSatisfy { echo[$0...].prefix(pattern.count) == pattern.prefix(taken - $0) })
    #expect(try client.isServed())
  }

  @Test(arguments: servers)
  func `out of descriptors, it sleeps, serves whom it has, and takes others when some have left`(
    _ name: String
  ) throws {
    let daemon = try Daemon(name, descriptors: 40)
    let first = try Client(daemon)
    #expect(try first.isServed())
    let open = try daemon.openSockets
    var others = try (1...64).map { _ in try Client(daemon) }
    try wait("for the daemon to have no descriptor left") { try daemon.openDescriptors == 40 }
    let before = try daemon.processorTime
    Thread.sleep(forTimeInterval: 1)
    #expect(try daemon.processorTime - before < 0.2)
    #expect(try first.isServed())
    others.removeAll()
    try wait("for the daemon to let go of those who left") { try daemon.openSockets == open }
    #expect(try Client(daemon).isServed())
    #expect(try daemon.terminate() == 0)
  }

  @Test(arguments: servers) func `SIGTERM ends it beside clients that do not read, and others that wait to be accepted`(
    _ name: String
  ) throws {
    let daemon = try Daemon(name, descriptors: 40)
    let room = try kernelRoom() + 1 << 20
    let stalled = try (1...3).map { _ in
      let client = try Client(daemon)
      #expect(try client.flood(with: pattern, limit: room) <= room)
      return client
    }
    let clients = try (1...64).map { _ in try Client(daemon) }
    try wait("for the daemon to have no descriptor left") { try daemon.openDescriptors == 40 }
    #expect(try daemon.terminate() == 0)
    withExtendedLifetime((stalled, clients)) {}
  }

  @Test(arguments: servers) func `a client that ends its side gets all that it is owed, and the end`(
    _ name: String
  ) throws {
    let daemon = try Daemon(name)
    let honest = try Client(daemon)
    #expect(try honest.isServed())
    let open = try daemon.openSockets
    let bytes = (0..<4 << 20).map { UInt8(truncatingIfNeeded: $0 / 4093) }
    for _ in 1...3 {
      let client = try Client(daemon)
      #expect(try client.exchange(bytes) == bytes)
    }
    try wait("for the connections to be closed") { try daemon.openSockets == open }
  }

  @Test(arguments: servers) func `clients that reset their connections leave nothing behind`(_ name: String) throws {
    let daemon = try Daemon(name)
    let honest = try Client(daemon)
    #expect(try honest.isServed())
    let open = try daemon.openSockets
    let room = try kernelRoom() + 1 << 20
    for number in 1...100 {
      let client = try Client(daemon)
      // At different moments: unaccepted, being echoed to, stalled.
      if number % 3 > 0 { try client.send(pattern) }
      if number % 25 == 0 { _ = try client.flood(with: pattern, limit: room) }
      client.resetOnClose()
    }
    try wait("for the connections to be closed") { try daemon.openSockets == open }
    #expect(try honest.isServed())
    #expect(try daemon.terminate() == 0)
  }

  @Test func `clients that neither send nor read are dropped, never early, and make room for others`() throws {
    let daemon = try Daemon("echo-daemon", "1", descriptors: 40)
    let begin = ContinuousClock.now
    let silent = try Client(daemon)
    let stalled = try Client(daemon)
    let room = try kernelRoom() + 1 << 20
    #expect(try stalled.flood(with: pattern, limit: room) <= room)
    let clients = try (1...64).map { _ in try Client(daemon) }
    #expect(try silent.receive(1) == [])
    #expect(ContinuousClock.now - begin >= .seconds(1))
    #expect(try Client(daemon).isServed())
    withExtendedLifetime((stalled, clients)) {}
  }

  @Test(arguments: servers) func `a client that sends and reads without a pause keeps no other from being served`(
    _ name: String
  ) throws {
    let daemon = try Daemon(name)
    let greedy = try Client(daemon)
    Thread.detachNewThread { greedy.press() }
    let honest = try Client(daemon)
    for _ in 1...100 { #expect(try honest.isServed()) }
    #expect(try Client(daemon).isServed())
    #expect(try daemon.terminate() == 0)
  }

  @Test(arguments: [SIGINT, SIGTERM]) func `async-echo says at once where it listens, also into a pipe, and ends with`(
    signal: CInt
  ) throws {
    let daemon = try Daemon("async-echo")
    #expect(try daemon.firstLine().wholeMatch(of: /Listening at 127\.[\d.]+:\d+\. Ctrl-C ends the server\./) != nil)
    let client = try Client(daemon)
    #expect(try client.isServed())
    #expect(try daemon.terminate(by: signal) == 0)
    #expect(try client.receive(1) == [])
  }
}
