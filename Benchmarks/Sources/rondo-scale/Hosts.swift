import Glibc
import Rondo
import RondoSockets
import RondoTesting

/// What an event costs by the number of hosts.
struct HostCosts {
  /// Nanoseconds for an answer of a server to one of the others, of 64 bytes, and with a seed; nil for one host.
  let answer: Int?
  let seeded: Int?
  /// Simulated hours in a second, where each host has a timer of a second.
  let hours: Double
}

func measureHosts(_ count: Int) throws -> HostCosts {
  let isAlone = count < 2
  return HostCosts(
    answer: isAlone ? nil : try answer(count, nil), seeded: isAlone ? nil : try answer(count, 1), hours: hours(count))
}

private func makeHosts(_ count: Int, in simulation: Simulation) -> [Host] {
  (0..<count).map { simulation.host("10.1.\($0 / 200).\($0 % 200 + 1)") }
}

private func answer(_ count: Int, _ seed: Seed?) throws -> Int {
  try withSimulation(seed: seed) { simulation in
    let address = try SocketAddress(parsing: "10.1.0.1:7007")
    let hosts = makeHosts(count, in: simulation)
    let loop = hosts[0].loop
    let listener = try hosts[0].run { try Listener(at: address) }
    hosts[0].start {
      try await listener.serve(on: loop, limits: .none) { connection in
        for try await bytes in connection { try await connection.write(bytes) }
      }
    }
    let clients = try hosts.dropFirst().map { host in
      let client = try host.run { try Socket(family: AF_INET, .stream) }
      _ = try client.connect(to: address)
      return client
    }
    simulation.run(for: .milliseconds(1))
    let rounds = 4_000
    let bytes = [UInt8](repeating: 1, count: 64)
    func answer() throws {
      for round in 0..<rounds {
        let client = clients[round * 7_919 % clients.count]
        _ = try client.send(bytes)
        simulation.run(for: .milliseconds(1))
        guard case .bytes = try client.receive() else { fatalError("The server has not answered.") }
      }
    }
    try answer()
    return try nanoseconds(answer) / rounds
  }
}

/// The dates of the timers differ, so that each is an event of its own.
private func hours(_ count: Int) -> Double {
  withSimulation { simulation in
    for (number, host) in makeHosts(count, in: simulation).enumerated() {
      _ = host.run { host.loop.add(Loop.Timer(every: .nanoseconds(1_000_000_000 + number)) { _ in }) }
    }
    simulation.run(for: .seconds(5))
    let hours = max(1, 100 / count)
    return Double(hours) * 1e9 / Double(nanoseconds { simulation.run(for: .seconds(3_600 * hours)) })
  }
}
