import Foundation
import Synchronization
import Testing

/// The example `rondo-status`, attacked.
@Suite struct AttackTests {
  /// What a client asks for again and again.
  private static let hunger = get("/metrics")

  @Test func `a client that never reads costs the daemon no memory, and nobody else anything`() throws {
    let daemon = try status()
    let honest = try Client(daemon)
    #expect(try honest.ask(Self.hunger).status == 200)
    let before = try daemon.residentMemory
    let room = try kernelRoom() + 1 << 20
    let stalled = try (1...8).map { number in
      let isConsole = number % 4 == 0
      let client = try Client(daemon, at: isConsole ? consolePort : 0)
      #expect(try client.flood(with: isConsole ? Array("counts\n".utf8) : Self.hunger, limit: room) <= room)
      #expect(try honest.isAnswered())
      return client
    }
    #expect(try daemon.residentMemory - before < 8 << 20)
    #expect(try Client(daemon).isAnswered())
    withExtendedLifetime(stalled) {}
  }

  @Test func `out of descriptors, it sleeps, serves whom it has, and takes others when some have left`() throws {
    let daemon = try status(descriptors: 48)
    let first = try Client(daemon)
    #expect(try first.isAnswered())
    let open = try daemon.openSockets
    var others = try (1...64).map { _ in try Client(daemon) }
    try wait("for the daemon to have no descriptor left") { try daemon.openDescriptors == 48 }
    let before = try daemon.processorTime
    Thread.sleep(forTimeInterval: 1)
    #expect(try daemon.processorTime - before < 0.2)
    #expect(try first.isAnswered())
    others.removeAll()
    try wait("for the daemon to let go of those who left") { try daemon.openSockets == open }
    #expect(try Client(daemon).isAnswered())
    #expect(try Client(daemon, at: consolePort).say("counts") == "0 names\n")
    #expect(try daemon.terminate() == 0)
  }

  @Test func `clients that reset their connections leave nothing behind`() throws {
    let daemon = try status()
    let honest = try Client(daemon)
    #expect(try honest.isAnswered())
    let open = try daemon.openSockets
    let room = try kernelRoom() + 1 << 20
    for number in 1...100 {
      let client = try Client(daemon, at: number % 5 == 0 ? consolePort : 0)
      // At different moments: unaccepted, in the middle of a request, being answered, stalled.
      if number % 4 > 0 { try client.send(Self.hunger.prefix(number % 4 == 1 ? 20 : .max)) }
      if number % 20 == 2 { _ = try client.flood(with: Self.hunger, limit: room) }
      client.resetOnClose()
    }
    try wait("for the connections to be closed") { try daemon.openSockets == open }
    #expect(try honest.isAnswered())
    #expect(try daemon.terminate() == 0)
  }

  @Test func `clients that send and read without a pause keep no other from being served`() throws {
    let daemon = try status()
    let greedy = [try Client(daemon), try Client(daemon, at: consolePort)]
    let sender = try Sender(daemon)
    Thread.detachNewThread { greedy[0].press(with: Self.hunger) }
    Thread.detachNewThread { greedy[1].press(with: Array("counts\n".utf8)) }
    // Until its socket has gone.
    Thread.detachNewThread { while sender.send("orders".utf8) {} }
    let (honest, console) = (try Client(daemon), try Client(daemon, at: consolePort))
    for _ in 1...100 {
      #expect(try honest.isAnswered())
      #expect(try console.say("counts", until: "names\n").hasSuffix("names\n"))
    }
    #expect(try Client(daemon).isAnswered())
    try wait("for a datagram") { try daemon.sum("orders") ?? 0 > 0 }
  }

  @Test func `SIGTERM ends it when the grace is over beside clients that do not read, and others that wait`() throws {
    let daemon = try status(descriptors: 48)
    let room = try kernelRoom() + 1 << 20
    let stalled = try [0, 0, consolePort].map { distance in
      let client = try Client(daemon, at: distance)
      let text = distance == 0 ? Self.hunger : Array("counts\n".utf8)
      #expect(try client.flood(with: text, limit: room) <= room)
      return client
    }
    let clients = try (1...64).map { _ in try Client(daemon) }
    try wait("for the daemon to have no descriptor left") { try daemon.openDescriptors == 48 }
    let begin = ContinuousClock.now
    // It says that some were cut off.
    #expect(try daemon.terminate() == EXIT_FAILURE)
    #expect(ContinuousClock.now - begin >= .seconds(10))
    withExtendedLifetime((stalled, clients)) {}
  }

  @Test(arguments: ["a length and chunks", "chunks twice", "data without an end", "a space before a colon"])
  func `a request that another one hides in is refused, and the other one is never answered`(_ name: String) throws {
    let daemon = try status()
    let found = Attack.all.first { $0.name == name }
    let attack = try #require(found)
    let answers = try Answer.all(in: Client(daemon).exchange(attack.bytes + Attack.smuggled))
    #expect(answers.map(\.status) == [attack.isInBody ? 405 : attack.status])
    #expect(try Client(daemon).isAnswered())
  }
}
