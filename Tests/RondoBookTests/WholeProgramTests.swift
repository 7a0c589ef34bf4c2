import Glibc
import Rondo
import RondoAsync
import RondoDaemon
import RondoSockets
import RondoTestSupport
import RondoTesting
import Testing

/// Whole programs, as the documentation has them, in simulation: by many seeds, with faults.
@Suite struct WholeProgramTests {
  /// README's server. It prints into a trace.
  private static func serve(at address: SocketAddress, _ print: @Sendable (String) -> Void) async throws {
    let listener = try Listener(at: address)
    print("Listening at \(listener.address). Ctrl-C ends the server.")
    try await withCancellation(by: [SIGINT, SIGTERM], on: .main) {
      try await listener.serve(on: .main, limits: ServerLimits(idle: .seconds(30)), grace: .seconds(5)) { connection in
        while try await connection.awaitRequest(), let bytes = try await connection.read() {
          try await connection.write(bytes)
        }
      }
    }
    print("ended")
  }

  /// What a client has sent and got.
  private final class Talk: Sendable {
    let sent = Guarded<[UInt8]>([])
    let received = Guarded<[UInt8]>([])
    /// What is sent, from the client's number on.
    private static let pattern = (0..<40_256).map { UInt8(truncatingIfNeeded: $0) }

    func converse(_ simulation: Simulation, on host: Host, with address: SocketAddress, _ number: Int) {
      let sizes = (0..<4).map { _ in 1 + simulation.choose(among: 40_000) }
      let pauses = (0..<4).map { _ in Duration.milliseconds(simulation.choose(among: 3_000)) }
      host.start { [self] in
        try await Task.sleep(for: pauses[0])
        let connection = try await Connection.connected(to: address, on: .main)
        async let reading: Void = {
          while let bytes = try? await connection.read() { received.withLock { $0 += bytes } }
        }()
        for (size, pause) in zip(sizes, pauses) {
          let bytes = Array(Self.pattern[number..<number + size])
          sent.withLock { $0 += bytes }
          do { try await connection.write(bytes) } catch { break }
          try await Task.sleep(for: pause)
        }
        try? await connection.finishWriting()
        await reading
        connection.close()
      }
    }

    /// Whether the answers are what was sent, up to where they ended.
    var isEchoed: Bool {
      let (sent, received) = (sent.withLock { $0 }, received.withLock { $0 })
      if received.isEmpty { return true }
      if received.count > sent.count { return false }
      let difference = unsafe sent.withUnsafeBytes { sent in
        unsafe received.withUnsafeBytes { unsafe memcmp(sent.baseAddress!, $0.baseAddress!, $0.count) }
      }
      return difference == 0
    }

    var isWhole: Bool { isEchoed && sent.withLock { $0.count } == received.withLock { $0.count } }
  }

  @Test(.seeds(50)) func `README's server echoes each client's bytes, and ends by a signal with nothing left`() {
    withSimulation { simulation in
      let server = simulation.host("10.0.0.1")
      let address = try! SocketAddress(parsing: "10.0.0.1:7007")
      let trace = Trace()
      let talks = (0..<3).map { _ in Talk() }
      server.start { try await Self.serve(at: address) { trace.note($0) } }
      for (number, talk) in talks.enumerated() {
        talk.converse(simulation, on: simulation.host("10.0.0.\(number + 2)"), with: address, number)
      }
      // A server without a listener has nothing to test.
      simulation.run(for: .milliseconds(1))
      simulation.faults.swarm(oneIn: 200)
      let end = Duration.milliseconds(500 + simulation.choose(among: 60_000))
      simulation.at(end) { server.send(signal: simulation.choose(among: 2) == 0 ? SIGTERM : SIGINT) }
      simulation.run(for: .seconds(120))
      #expect(talks.allSatisfy { $0.isEchoed })
      #expect(trace.text == "Listening at 10.0.0.1:7007. Ctrl-C ends the server. ended")
      // The queue of a stopped listener is the kernel's until the program ends it.
      #expect(server.openDescriptorCount == 0)
    }
  }

  @Test(.seeds(50)) func `without faults and signals README's server gives each client all of its bytes back`() {
    withSimulation { simulation in
      let server = simulation.host("10.0.0.1")
      let address = try! SocketAddress(parsing: "10.0.0.1:7007")
      let talks = (0..<3).map { _ in Talk() }
      server.start { try await Self.serve(at: address) { _ in } }
      for (number, talk) in talks.enumerated() {
        talk.converse(simulation, on: simulation.host("10.0.0.\(number + 2)"), with: address, number)
      }
      simulation.run(for: .seconds(60))
      #expect(talks.allSatisfy { $0.isWhole })
    }
  }

  // MARK: - On several threads

  @Test(.seeds(50)) func `a server of three threads echoes each client's bytes, and ends by a signal`() {
    withSimulation { simulation in
      let server = simulation.host("10.0.0.1")
      let address = try! SocketAddress(parsing: "10.0.0.1:7007")
      let trace = Trace()
      let talks = (0..<3).map { _ in Talk() }
      let threads = Guarded<Set<Int>>([])
      server.start {
        let group = try LoopGroup(threads: 3)
        let listener = try Listener(at: address)
        try await withCancellation(by: [SIGTERM], on: .main) {
          try await listener.serve(over: group, limits: ServerLimits(idle: .seconds(30)), grace: .seconds(5)) {
            connection in
            threads.withLock { _ = $0.insert(group.loops.firstIndex { $0.isCurrent } ?? -1) }
            while try await connection.awaitRequest(), let bytes = try await connection.read() {
              try await connection.write(bytes)
            }
          }
        }
        await group.end()
        trace.note("ended")
      }
      for (number, talk) in talks.enumerated() {
        talk.converse(simulation, on: simulation.host("10.0.0.\(number + 2)"), with: address, number)
      }
      // A server without a listener has nothing to test.
      simulation.run(for: .milliseconds(1))
      simulation.faults.swarm(oneIn: 200)
      simulation.at(.milliseconds(500 + simulation.choose(among: 60_000))) { server.send(signal: SIGTERM) }
      simulation.run(for: .seconds(120))
      #expect(talks.allSatisfy { $0.isEchoed })
      #expect(trace.text == "ended")
      #expect(threads.withLock { $0.isSubset(of: [0, 1, 2]) })
      #expect(server.openDescriptorCount == 0)
    }
  }

  // MARK: - On the main actor

  /// How many requests there have been: the main actor's, as much of a program's state is.
  @MainActor private final class Desk {
    private(set) var served = 0
    private(set) var isDraining = false

    func answer(_ request: String) async throws -> String {
      // It looks something up meanwhile.
      try await Task.sleep(for: .milliseconds(20))
      served += 1
      return "\(request) \(served)"
    }

    func drain() { isDraining = true }
  }

  /// A daemon whose state is the main actor's.
  @MainActor private static func runDesk(
    at address: SocketAddress, _ desk: Desk
  ) async throws -> Daemon.Outcome {
    try await withDaemon(on: .main, grace: .seconds(10)) { daemon in
      let listener = try Listener(at: address)
      daemon.ready()
      defer { Task { @MainActor in desk.drain() } }
      try await daemon.serve(listener) { @MainActor connection in
        while try await connection.awaitRequest(), let request = try await connection.readLine() {
          try await connection.write(try await desk.answer(request) + "\n")
        }
      }
    }
  }

  @MainActor @Test(.seeds(50)) func `a daemon on the main actor answers each request that it has begun, and drains`() {
    withSimulation { simulation in
      let server = simulation.host("10.0.0.1")
      let address = try! SocketAddress(parsing: "10.0.0.1:7007")
      let trace = Trace()
      let desk = Desk()
      server.start { @MainActor in trace.note("\(try await Self.runDesk(at: address, desk))") }
      let answers = Guarded<[Int]>([])
      let cut = Guarded(0)
      for number in 2...4 {
        let client = simulation.host("10.0.0.\(number)")
        let pause = Duration.milliseconds(simulation.choose(among: 50))
        client.start {
          let connection = try await Connection.connected(to: address, on: .main)
          for _ in 0..<20 {
            try await Task.sleep(for: pause)
            do {
              try await connection.write("a\n")
              guard let line = try await connection.readLine() else { return cut.withLock { $0 += 1 } }
              answers.withLock { $0.append(Int(line.dropFirst(2))!) }
            } catch { return cut.withLock { $0 += 1 } }
          }
        }
      }
      simulation.at(.milliseconds(1 + simulation.choose(among: 2_000))) { server.send(signal: SIGTERM) }
      simulation.run(for: .seconds(60))
      let all = answers.withLock { $0.sorted() }
      // Each answer was counted once, and each that was counted has come.
      #expect(all == Array(1...max(1, desk.served)).prefix(desk.served).map { $0 })
      #expect(desk.isDraining && trace.text == "drained")
      #expect(server.openDescriptorCount == 0)
    }
  }
}
