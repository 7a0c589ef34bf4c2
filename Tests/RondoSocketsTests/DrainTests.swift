import Glibc
import Rondo
import RondoSockets
import RondoTestSupport
import RondoTesting
import Testing

/// How a server drains: who waits between requests, and who is in the middle of one.
@Suite struct DrainTests {
  private static let address = try! SocketAddress(parsing: "10.0.0.1:7007")

  /// Has 200 idle clients and one in the middle of a request when the server is cancelled after 10 s; what is told.
  private func drain(grace: Duration, finishingAfter rest: Duration?) -> [String] {
    withSimulation { simulation in
      let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let (serverLoop, clientLoop) = (server.loop, client.loop)
      let trace = Trace()
      let serving = server.start {
        try await Listener(at: Self.address).serve(on: serverLoop, grace: grace) { connection in
          while try await connection.awaitRequest(), let line = try await connection.readLine() {
            try await connection.write("\(line)!\n")
          }
        }
        trace.note("\(simulation.elapsed) ended")
      }
      for number in 0..<200 {
        client.start {
          let connection = try await Connection.connected(to: Self.address, on: clientLoop)
          // Half of them have had an answer.
          if number % 2 == 0 {
            try await connection.write("a\n")
            _ = try await connection.readLine()
          }
          if try await connection.read() == nil { trace.note("end") }
        }
      }
      client.start {
        let connection = try await Connection.connected(to: Self.address, on: clientLoop)
        guard let rest else { return }
        try await connection.write("half of ")
        try await clientLoop.clock.sleep(for: .seconds(10) + rest)
        try await connection.write("a line\n")
        trace.note(try await connection.readLine() ?? "no answer")
      }
      simulation.at(.seconds(10)) { serving.cancel() }
      simulation.run(for: .seconds(100))
      return trace.tokens
    }
  }

  @Test func `a drain ends those between requests without its grace`() {
    let words = drain(grace: .seconds(30), finishingAfter: nil)
    #expect(words.count { $0 == "end" } == 200)
    #expect(words.contains { $0.hasPrefix("10.0") && $0.hasSuffix("ended") })
  }

  @Test func `in a drain, who is in the middle of a request finishes it within the grace`() {
    let words = drain(grace: .seconds(30), finishingAfter: .seconds(5))
    #expect(words.count { $0 == "end" } == 200)
    #expect(words.contains("half of a line!"))
    #expect(words.contains { $0.hasPrefix("15.0") && $0.hasSuffix("ended") })
  }

  @Test func `in a drain, who is in the middle of a request for longer than the grace is cut`() {
    let words = drain(grace: .seconds(3), finishingAfter: .seconds(50))
    #expect(words.contains { $0.hasPrefix("13.0") && $0.hasSuffix("ended") })
  }

  /// A client connects 100 ms before a drain, and sends its first request after so many milliseconds, if any.
  private func connectBeforeDrain(sendingAfter delay: Int?) -> [String] {
    withSimulation { simulation in
      let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let (serverLoop, clientLoop) = (server.loop, client.loop)
      let trace = Trace()
      let serving = server.start {
        try await Listener(at: Self.address).serve(on: serverLoop, grace: .seconds(30)) { connection in
          while try await connection.awaitRequest(), let line = try await connection.readLine() {
            try await connection.write("\(line)!\n")
          }
        }
        trace.note("\(simulation.elapsed) ended")
      }
      client.start {
        try await clientLoop.clock.sleep(for: .milliseconds(9_900))
        let connection = try await Connection.connected(to: Self.address, on: clientLoop)
        if let delay {
          try await clientLoop.clock.sleep(for: .milliseconds(delay))
          try await connection.write("first\nsecond\n")
        }
        while let line = try await connection.readLine() { trace.note(line) }
        trace.note("end")
      }
      simulation.at(.seconds(10)) { serving.cancel() }
      simulation.run(for: .seconds(100))
      return trace.tokens
    }
  }

  @Test func `a client that connected just before a drain gets its answer, and then the end`() {
    let words = connectBeforeDrain(sendingAfter: 700)
    #expect(words.filter { !$0.hasSuffix("ended") } == ["first!", "second!", "end"])
    #expect(words.contains { $0.hasPrefix("10.6") && $0.hasSuffix("ended") })
  }

  @Test(arguments: [nil, 1_500]) func `a client that says nothing for a second is not waited for in a drain`(
    _ delay: Int?
  ) {
    let words = connectBeforeDrain(sendingAfter: delay)
    #expect(words.contains("end") && !words.contains("first!"))
    #expect(words.contains { $0.hasPrefix("10.9") && $0.hasSuffix("ended") })
  }

  @Test func `a drain misses nothing whose edge was not told`() async throws {
    try await withLoop { loop in
      let (near, far) = try Connection.pair(on: loop)
      let reading = Task { try await near.awaitRequest() }
      for _ in 0..<10 { try await loop.call {} }
      // In one callout: the loop tells of no edge between.
      try await loop.call {
        #expect((try? far.socket!.send([1])) == 1)
        near.drain()
      }
      #expect(try await reading.value)
      #expect(try await near.read() == [1])
      #expect(try await !near.awaitRequest())
    }
  }

  @Test func `a request that came before the drain is served`() async throws {
    try await withLoop { loop in
      let (near, far) = try Connection.pair(on: loop)
      try await far.write("one\ntwo\n")
      #expect(try await near.awaitRequest())
      near.drain()
      #expect(try await near.awaitRequest())
      #expect(try await near.readLine() == "one")
      #expect(try await near.awaitRequest())
      #expect(try await near.readLine() == "two")
      #expect(try await !near.awaitRequest())
      // Other calls go on.
      try await far.write("three\n")
      #expect(try await near.readLine() == "three")
      try await far.finishWriting()
      #expect(try await !near.awaitRequest())
    }
  }

  @Test func `a server whose loop ends within the grace cancels the connections on other loops`() async throws {
    let (accepting, serving) = (try LoopThread(name: "accepting"), try LoopThread(name: "serving"))
    let (front, back) = (accepting.loop, serving.loop)
    let listener = try Listener(at: .loopback())
    let task = Task {
      try await listener.serve(
        on: front, limits: .none, grace: .seconds(3_600), in: .common, onError: nil, place: { (back, {}) },
        { try await $0.write("\($0.read() ?? [])") })
    }
    let client = try await Connection.connected(to: listener.address, on: back)
    // Its task has begun when the connection is there.
    for _ in 0..<10 { try await back.call {} }
    task.cancel()
    for _ in 0..<10 { try await front.call {} }
    await accepting.end()
    _ = await task.result
    #expect(try await client.read() == nil)
    await serving.end()
  }

  @Test func `a request is read by any of the other calls`() async throws {
    try await withLoop { loop in
      let (connection, peer) = try Connection.pair(on: loop)
      try await peer.write("one\ntwo\n")
      try await peer.finishWriting()
      func answer(to line: String) -> String { "\(line)!\n" }
      while try await connection.awaitRequest(), let line = try await connection.readLine() {
        try await connection.write(answer(to: line))
      }
      connection.close()
      var answers: [String] = []
      for try await line in peer.lines() { answers.append(line) }
      #expect(answers == ["one!", "two!"])
    }
  }
}
