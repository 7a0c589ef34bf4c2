import Rondo
import RondoSockets
import RondoTesting

/// What is wrong with a server, on purpose.
enum Plant: CaseIterable, Sendable {
  /// A session that ends by an error stays in the server's table.
  case leak
  /// What is read in one piece is taken for a whole line.
  case cut
  /// A task looks at its queue, writes down that it is idle, and waits then, without a second look.
  case lostWakeup
}

/// What becomes of README's server, made to answer lines, in a network in which anything may fail.
struct Storm: Equatable {
  private(set) var complaints: [String] = []
  /// What happened when, in the virtual milliseconds of the run.
  private(set) var trace: [String] = []
  private(set) var faults = 0

  init(_ seed: Seed?, planting plant: Plant? = nil) throws {
    let address = try SocketAddress(parsing: "10.0.0.1:7007")
    let notes = Trace()
    let tokens = withSimulation(seed: seed) { simulation in
      let server = simulation.host("10.0.0.1")
      let clients = (2...4).map { simulation.host("10.0.0.\($0)") }
      let sessions = Sessions(plant)
      let faults = simulation.faults
      faults.swarm(oneIn: 40)
      let serving = server.start {
        while !Task.isCancelled {
          // As a service manager would start it again.
          guard let listener = try? Listener(at: address) else {
            try await server.loop.clock.sleep(for: .seconds(1))
            continue
          }
          try await listener.serve(on: server.loop, grace: .seconds(5)) { connection in
            connection.idleLimit = .seconds(30)
            try await sessions.serve(connection)
          }
        }
      }
      for host in clients {
        host.start {
          for round in 0..<5 {
            try await host.loop.clock.sleep(for: .milliseconds(simulation.choose(among: 3_000)))
            let isRight = try? await asks(["one", "two", "three"], at: address, on: host.loop, simulation)
            // A client may fail where a fault has cut it, and not else.
            let isExcused = faults.count(of: .socket) + faults.count(of: .send) + faults.brokenConnections > 0
            notes.note("\(simulation.milliseconds) \(host.address) \(round) \(isRight.map { "\($0)" } ?? "failed")")
            if isRight != true, !isExcused { notes.note("! \(host.address) has had no right answer") }
          }
        }
        if simulation.choose(among: 4) == 3 {
          simulation.at(.milliseconds(simulation.choose(among: 9_000))) { host.crash() }
        }
      }
      simulation.run(for: .seconds(300))
      if sessions.count > 0 { notes.note("! \(sessions.count) sessions have stayed") }
      serving.cancel()
      simulation.run(for: .seconds(10))
      if server.openDescriptorCount > 0 { notes.note("! \(server.openDescriptorCount) descriptors are open") }
      self.faults = faults.count
      return notes.tokens
    }
    complaints = tokens.filter { $0.hasPrefix("!") }
    trace = tokens
  }
}

/// Asks a server some lines: whether each answer is right, and the end comes after the last one.
private func asks(
  _ lines: [String], at address: SocketAddress, on loop: Loop, _ simulation: Simulation
) async throws -> Bool {
  let connection = try await Connection.connected(to: address, on: loop)
  connection.deadline = loop.clock.now + .seconds(20)
  for line in lines {
    try await connection.write(line + "\n")
    // Long enough for the answer, unless the seed says otherwise.
    try await loop.clock.sleep(for: .microseconds([10_000, 0, 500, 1_000][simulation.choose(among: 4)]))
  }
  for line in lines where try await connection.readLine() != line + "!" { return false }
  try await connection.finishWriting()
  return try await connection.read() == nil
}

/// The sessions of a server of lines: each reads into a queue, from which a task of its own answers.
private final class Sessions: @unchecked Sendable {
  // Unchecked: all of it runs on the server's loop.
  private let plant: Plant?
  private var table: [Int: Connection] = [:]
  private var lastNumber = 0

  init(_ plant: Plant?) { self.plant = plant }

  var count: Int { table.count }

  func serve(_ connection: Connection) async throws {
    lastNumber += 1
    let number = lastNumber
    table[number] = connection
    defer { if plant != .leak { table[number] = nil } }
    try await withThrowingTaskGroup { group in
      let queue = Queue(on: connection.loop, losesWakeups: plant == .lostWakeup)
      defer { queue.push(nil) }
      group.addTask { while let line = await queue.next() { try await connection.write(line + "!\n") } }
      if plant == .cut {
        for try await piece in connection {
          guard piece.last == UInt8(ascii: "\n") else { return }
          queue.push(String(decoding: piece.dropLast(), as: UTF8.self))
        }
      } else {
        for try await line in connection.lines() { queue.push(line) }
      }
    }
    table[number] = nil
  }
}

/// Lines for one task, which waits for them.
private final class Queue: @unchecked Sendable {
  // Unchecked: all of it runs on the server's loop.
  private let loop: Loop
  private let losesWakeups: Bool
  private var lines: [String?] = []
  private var waiter: CheckedContinuation<Void, Never>?

  init(on loop: Loop, losesWakeups: Bool) { (self.loop, self.losesWakeups) = (loop, losesWakeups) }

  /// Adds a line, or the end.
  func push(_ line: String?) {
    lines.append(line)
    waiter.take()?.resume()
  }

  func next() async -> String? {
    while lines.isEmpty, !Task.isCancelled {
      if losesWakeups { try? await loop.clock.sleep(for: .milliseconds(1)) }
      await withTaskCancellationHandler {
        await withCheckedContinuation { waiter = $0 }
      } onCancel: {
        waiter.take()?.resume()
      }
    }
    return lines.isEmpty ? nil : lines.removeFirst()
  }
}
