import Glibc
import Rondo
import RondoPorts
import RondoSockets
import RondoTestSupport
import RondoTesting
import Testing

/// Message ports and the loops they are in: modes, runs while waiting, and the end of a peer.
@Suite struct MessagePortLoopTests {
  @Test func `messages are handled in the port's modes, one a turn`() throws {
    let trace = try onThread {
      let trace = Trace()
      let loop = Loop.current
      let name = try uniqueName()
      let note = trace.note
      let port = try LocalMessagePort(name) { note("\($0.identifier)") }
      loop.add(port, to: "other")
      let client = try RawClient(name)
      try client.send((1...4).flatMap { Frame(.notice, identifier: $0).encoded })
      loop.run(for: .zero)
      trace.note("|")
      // The connection is accepted in the first turn.
      for _ in 0..<3 {
        loop.run(in: "other", for: .zero)
        trace.note("|")
      }
      // Out of the mode, what was read already waits too.
      loop.remove(port, from: "other")
      loop.run(in: "other", for: .zero)
      loop.add(port)
      trace.note("again")
      for _ in 0..<3 { loop.run(for: .zero) }
      return trace.text
    }
    #expect(trace == "| | 1 | 2 | again 3 4")
  }

  @Test func `a port that its handler takes out of the loop hears no more`() throws {
    let trace = try onThread {
      let trace = Trace()
      let loop = Loop.current
      let name = try uniqueName()
      let note = trace.note
      let box = Box<LocalMessagePort?>(nil)
      box.value = try LocalMessagePort(name) {
        note("\($0.identifier)")
        box.value?.invalidate()
      }
      loop.add(box.value!)
      loop.add(Loop.Source {})
      let client = try RawClient(name)
      try client.send((1...4).flatMap { Frame(.notice, identifier: $0).encoded })
      for _ in 0..<5 { loop.run(for: .zero) }
      #expect(try client.receive() == [.failure(.closing)])
      return trace.text
    }
    #expect(trace == "1")
  }

  @Test func `a wait that runs a mode serves what else is in it`() throws {
    let text = try onThread {
      let served = try Asked()
      let trace = Trace()
      let note = trace.note
      Loop.current.add(Loop.Timer(after: .milliseconds(1)) { _ in note("other") }, to: "other")
      Loop.current.add(Loop.Timer(after: .milliseconds(1)) { _ in note("default") })
      // The reply comes when the timer's time is over.
      let answerer = TestThread {
        waitUntil { !served.held.value.isEmpty }
        usleep(20_000)
        try served.held.value[0].reply(Array("reply".utf8))
      }
      let remote = try RemoteMessagePort(served.name)
      let reply = try request(remote, running: "other")
      try answerer.join()
      trace.note(reply ?? "nil")
      return trace.text
    }
    #expect(text == "other reply")
  }

  @Test func `two ports that ask each other at the same time both get their replies`() throws {
    let names = [try uniqueName(), try uniqueName()]
    let ready = Box(0)
    let sides = (0..<2).map { side in
      TestThread {
        let port = try LocalMessagePort(answering: names[side]) { $0.bytes + [UInt8(side)] }
        Loop.current.add(port, to: "asking")
        ready.change { $0 += 1 }
        waitUntil { ready.value == 2 }
        let remote = try RemoteMessagePort(names[1 - side])
        let reply = try remote.request(
          [7], sendTimeout: .seconds(60), replyTimeout: .seconds(60), running: "asking")
        // The other is served until it has its own.
        ready.change { $0 += 1 }
        while ready.value < 4 { Loop.current.run(in: "asking", for: .milliseconds(1)) }
        return reply
      }
    }
    #expect(try sides[0].join() == [7, 1])
    #expect(try sides[1].join() == [7, 0])
  }

  @Test func `a request can be made while another one waits on the same thread`() throws {
    let text = try onThread {
      let served = try Asked()
      let remote = try RemoteMessagePort(served.name)
      let inner = Box("")
      // Served backwards: the inner request's reply comes first.
      let answerer = TestThread {
        waitUntil { served.held.value.count == 2 }
        for request in served.held.value.reversed() { try request.reply(request.bytes) }
      }
      Loop.current.perform(in: "asking") {
        let reply = try? remote.request(
          Array("inner".utf8), sendTimeout: .seconds(60), replyTimeout: .seconds(60), running: "asking")
        inner.value = reply.flatMap { $0 }.map { String(decoding: $0, as: UTF8.self) } ?? "none"
      }
      let outer = try request(remote, "outer", running: "asking")
      try answerer.join()
      return "\(outer ?? "none") \(inner.value)"
    }
    #expect(text == "outer inner")
  }

  @Test func `a wait that runs a mode ends in time, never before, and leaves nothing in the mode`() throws {
    let (error, elapsed, result) = try onThread { () -> (MessagePortError?, Duration, Loop.RunResult) in
      let served = try Asked()
      let remote = try RemoteMessagePort(served.name)
      let start = SuspendingClock.now
      var found: MessagePortError?
      do throws(MessagePortError) {
        _ = try remote.request([], sendTimeout: .seconds(60), replyTimeout: .milliseconds(20), running: "asking")
      } catch {
        found = error
      }
      return (found, SuspendingClock.now - start, Loop.current.run(in: "asking", for: .seconds(60)))
    }
    #expect(error == .replyTimedOut)
    #expect(elapsed >= .milliseconds(20))
    #expect(result == .finished)
  }

  @Test(arguments: [false, true])
  func `a stop during a wait ends the enclosing run, after the reply`(_ isRequest: Bool) throws {
    let text = try onThread {
      let served = try Asked()
      let loop = Loop.current
      let trace = Trace()
      let note = trace.note
      let answerer = TestThread {
        waitUntil { !served.held.value.isEmpty }
        usleep(10_000)
        try served.held.value[0].reply(Array("reply".utf8))
      }
      let remote = try RemoteMessagePort(served.name)
      loop.add(Loop.Source {})
      loop.perform {
        loop.perform(in: "asking") {
          if isRequest { loop.requestStop() } else { loop.stop() }
        }
        note((try? request(remote, running: "asking")) ?? "none")
      }
      trace.note("\(loop.run(in: .default, for: .seconds(60)))")
      try answerer.join()
      return trace.text
    }
    #expect(text == "reply stopped")
  }

  @Test func `a stop in the turn that reads the reply ends the enclosing run`() throws {
    let text = try onThread {
      let served = try Asked()
      let loop = Loop.current
      let trace = Trace()
      let note = trace.note
      let isAsking = Box(false)
      let hasReplied = Box(false)
      let answerer = TestThread {
        // Not before the block runs: a request whose reply is there already runs no loop.
        waitUntil { isAsking.value && !served.held.value.isEmpty }
        try served.held.value[0].reply(Array("reply".utf8))
        hasReplied.value = true
      }
      let remote = try RemoteMessagePort(served.name)
      loop.add(Loop.Source {})
      loop.perform {
        loop.perform(in: "asking") {
          isAsking.value = true
          waitUntil { hasReplied.value }
          loop.stop()
        }
        note((try? request(remote, running: "asking")) ?? "none")
        // Without the stop the run would go on for ever.
        loop.perform {
          loop.perform {
            note("another turn")
            loop.requestStop()
          }
        }
      }
      trace.note("\(loop.run())")
      try answerer.join()
      return trace.text
    }
    #expect(text == "reply stopped")
  }

  @Test func `a peer that goes is told in the port's loop and mode, once`() throws {
    let trace = try onThread {
      let trace = Trace()
      let note = trace.note
      let name = try uniqueName()
      var listener: Socket? = try Socket.listening(at: name.address)
      let remote = try RemoteMessagePort(name) { error in note("\(error), in \(Loop.current.currentMode!)") }
      let loop = Loop.current
      loop.add(remote, to: "other")
      loop.add(Loop.Source {}, to: "other")
      loop.run(in: "other", for: .zero)
      trace.note("|")
      listener = nil
      loop.run(for: .zero)
      trace.note("|")
      _ = succeedsWithoutCopies {
        loop.run(in: "other", for: .zero)
        return !remote.isValid
      }
      for _ in 0..<2 { loop.run(in: "other", for: .zero) }
      _ = listener
      return "\(trace.text) \(remote.isValid)"
    }
    #expect(trace == "| | the peer has gone, in other false")
  }

  @Test func `without a loop the thread that notices is told`() throws {
    let name = try uniqueName()
    var listener: Socket? = try Socket.listening(at: name.address)
    let told = Box<[MessagePortError]>([])
    let remote = try onThread { try RemoteMessagePort(name) { error in told.change { $0.append(error) } } }
    listener = nil
    _ = listener
    #expect(throws: MessagePortError.peerGone) { try remote.ask("a") }
    #expect(told.value == [.peerGone])
  }

  @Test func `a reply can be told in the loop, and so can its lateness and the peer's end`() throws {
    let texts = try onThread {
      let served = try Asked()
      let remote = try RemoteMessagePort(served.name)
      let loop = Loop.current
      loop.add(remote)
      let told = Box<[String]>([])
      for (identifier, timeout) in [(1, Duration.seconds(60)), (2, .milliseconds(1)), (3, .seconds(60))] {
        try remote.request([UInt8(identifier)], identifier: Int32(identifier), replyTimeout: timeout) { result in
          told.change { $0.append("\(identifier): \(result)") }
        }
      }
      while told.value.count < 1 { loop.run(in: .default, for: .milliseconds(1)) }
      waitUntil { served.held.value.count == 3 }
      try served.held.value[0].reply([9])
      while told.value.count < 2 { loop.run(in: .default, for: .milliseconds(1)) }
      served.port.invalidate()
      while told.value.count < 3 { loop.run(in: .default, for: .milliseconds(1)) }
      return told.value
    }
    #expect(
      texts == [
        "2: failure(no reply came in time)", "1: success(Optional([9]))",
        "3: failure(the receiver ended the connection: closing)",
      ])
  }

  @Test func `a peer that reads no more and goes on sending does not hold who asks it`() throws {
    let name = try uniqueName()
    let listener = try Socket.listening(at: name.address)
    let (sent, isOver) = (Box(0), Box(false))
    let attacker = TestThread {
      var peer: Socket?
      waitUntil {
        peer = (try? listener.accept())??.0
        return peer != nil
      }
      guard let peer else { return }
      _ = shutdown(peer.descriptor, CInt(SHUT_RD))
      let bytes = (1...10_000).flatMap { Frame(.emptyReply, serial: .max - $0).encoded }
      var rest = bytes[...]
      // Were it endless, so might be the test.
      while !isOver.value, sent.value < 64 << 20, let count = try? peer.send(rest) {
        sent.change { $0 += count }
        rest = rest.dropFirst(count)
        if rest.isEmpty { rest = bytes[...] }
      }
    }
    try onThread {
      let remote = try RemoteMessagePort(name)
      waitUntil { sent.value > 0 }
      #expect(throws: MessagePortError.peerGone) {
        try remote.request([], sendTimeout: .seconds(60), replyTimeout: .seconds(60))
      }
    }
    isOver.value = true
    try attacker.join()
    // What was read, and what the socket holds.
    #expect(sent.value < 8 << 20)
  }

  @Test func `a reply in the loop needs a loop`() throws {
    let name = try uniqueName()
    let listener = try Socket.listening(at: name.address)
    try onThread {
      let remote = try RemoteMessagePort(name)
      #expect(throws: MessagePortError.invalid) { try remote.request([], replyTimeout: .zero) { _ in } }
    }
    _ = listener
  }

  @Test func `the loop keeps both ends alive, and lets them go`() throws {
    let alive = try onThread { () -> [Bool] in
      weak var local: LocalMessagePort?
      weak var remote: RemoteMessagePort?
      do {
        let name = try uniqueName()
        let port = try LocalMessagePort(name) { try? $0.reply($0.bytes) }
        Loop.current.add(port)
        let other = try RemoteMessagePort(name)
        Loop.current.add(other)
        (local, remote) = (port, other)
      }
      Loop.current.add(Loop.Source {})
      Loop.current.run(for: .zero)
      let before = [local != nil, remote != nil]
      remote?.invalidate()
      local?.invalidate()
      Loop.current.run(for: .zero)
      return before + [local != nil, remote != nil]
    }
    #expect(alive == [true, true, false, false])
  }

  @Test(arguments: [false, true])
  func `a name is free at once when its port is invalidated, in a callout too`(_ hasConnection: Bool) throws {
    let isFree = try onThread { () -> Bool in
      let loop = Loop.current
      let name = try uniqueName()
      let client = Box<RawClient?>(nil)
      let isFree = Box(false)
      let port = try LocalMessagePort(name) { _ in }
      loop.add(port)
      if hasConnection { client.value = try RawClient(name) }
      loop.add(Loop.Source {})
      loop.run(for: .zero)
      loop.perform {
        port.invalidate()
        isFree.value = (try? LocalMessagePort(name) { _ in }) != nil
      }
      loop.run(for: .zero)
      return isFree.value
    }
    #expect(isFree)
  }

  @Test func `a port invalidated on another thread gives its name back when its loop has let go`() throws {
    let name = try uniqueName()
    let running = RunningLoop()
    let port = try LocalMessagePort(name) { try? $0.reply() }
    running.loop.add(port)
    #expect(try RemoteMessagePort(name).ask("a") == nil)
    port.invalidate()
    var next: LocalMessagePort?
    waitUntil {
      next = try? LocalMessagePort(name) { _ in }
      return next != nil
    }
    #expect(next != nil)
  }

  // MARK: - Support

  /// A port on a loop of its own that keeps what it is asked.
  private final class Asked: Sendable {
    let name: MessagePortName
    let held = Box<[MessagePortRequest]>([])
    let port: LocalMessagePort
    let running = RunningLoop()

    init() throws {
      name = try uniqueName()
      let held = held
      port = try LocalMessagePort(name) { request in held.change { $0.append(request) } }
      running.loop.add(port)
    }
  }
}

/// Asks, running the thread's loop meanwhile.
private func request(
  _ remote: RemoteMessagePort, _ text: String = "", running mode: Loop.Mode
) throws(MessagePortError) -> String? {
  try remote.request(
    Array(text.utf8), sendTimeout: .seconds(60), replyTimeout: .seconds(60), running: mode
  ).map { String(decoding: $0, as: UTF8.self) }
}
