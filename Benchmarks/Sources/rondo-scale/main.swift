// What grows with the number of connections on one loop: a server with simulated clients, past any limit of descriptors.
// And what a simulation costs by the number of its hosts.
//
//   rondo-scale [CONNECTIONS]...
//   rondo-scale hosts [HOSTS]...
import Glibc
import Rondo
import RondoSockets
import RondoTesting

/// What one size costs.
struct Costs {
  /// Bytes of memory for each connection.
  var memory = 0
  /// Nanoseconds to connect and accept one, to answer 64 bytes of one, and to add and cancel a timer.
  var accept = 0, answer = 0, timer = 0
}

/// The process's memory in bytes, without what it shares with files.
func residentMemory() -> Int {
  guard let file = fopen("/proc/self/statm", "r") else { return 0 }
  defer { fclose(file) }
  var line = [CChar](repeating: 0, count: 128)
  fgets(&line, 128, file)
  let pages = numbers(in: line)
  return (pages[1] - pages[2]) * 4_096
}

func nanoseconds(_ body: () throws -> Void) rethrows -> Int {
  let duration = try ContinuousClock().measure(body)
  return Int(duration.components.seconds) * 1_000_000_000 + Int(duration.components.attoseconds / 1_000_000_000)
}

/// Serves `count` connections at a time, each with a task; or, for comparison, has their sockets without a server.
func measure(_ count: Int, isServed: Bool) throws -> Costs {
  try withSimulation { simulation in
    var costs = Costs()
    let address = try SocketAddress(parsing: "10.0.0.1:7007")
    let server = simulation.host("10.0.0.1")
    let listener = try server.run { try Listener(at: address) }
    let loop = server.loop
    if isServed {
      server.start {
        try await listener.serve(on: loop, limits: .none) { connection in
          for try await bytes in connection { try await connection.write(bytes) }
        }
      }
    }
    var clients: [Socket] = []
    var accepted: [Socket] = []
    clients.reserveCapacity(count)
    let batch = 1_000
    let before = residentMemory()
    costs.accept =
      try nanoseconds {
        for start in stride(from: 0, to: count, by: batch) {
          // A host has 28,000 ports.
          let place = start / 25_000
          let host =
            start % 25_000 == 0 ? simulation.host("10.1.\(place / 200).\(place % 200 + 1)") : simulation.hosts.last!
          try host.run {
            for _ in start..<min(start + batch, count) {
              let client = try Socket(family: AF_INET, .stream)
              _ = try client.connect(to: address)
              clients.append(client)
            }
          }
          simulation.run(for: .milliseconds(1))
          if !isServed { while let next = try listener.socket.accept() { accepted.append(next.socket) } }
        }
      } / count
    // Each has been used once.
    if isServed {
      for client in clients { _ = try client.send([UInt8](repeating: 1, count: 64)) }
      simulation.run(for: .milliseconds(1))
      for client in clients { _ = try client.receive() }
    }
    costs.memory = (residentMemory() - before) / count
    guard isServed else { return costs }
    let rounds = 2_000
    let bytes = [UInt8](repeating: 1, count: 64)
    func answer() throws {
      for round in 0..<rounds {
        let client = clients[round * 7_919 % count]
        _ = try client.send(bytes)
        simulation.run(for: .milliseconds(1))
        guard case .bytes = try client.receive() else { fatalError("The server has not answered.") }
      }
    }
    func time() {
      for _ in 0..<rounds {
        let timer = Loop.Timer(after: .seconds(3_600)) { _ in }
        loop.add(timer)
        timer.invalidate()
      }
    }
    // Once before: the allocator then merges what the beginning has left.
    try answer()
    time()
    costs.answer = try nanoseconds(answer) / rounds
    costs.timer = nanoseconds(time) / rounds
    _ = accepted
    return costs
  }
}

/// Measures in a process of its own: memory that one size has left would serve the next.
func measureApart(_ count: Int, _ mode: String) -> [Int] {
  guard let pipe = popen("'\(CommandLine.arguments[0])' \(mode) \(count)", "r") else { return [] }
  defer { pclose(pipe) }
  var line = [CChar](repeating: 0, count: 256)
  fgets(&line, 256, pipe)
  return numbers(in: line)
}

func numbers(in line: [CChar]) -> [Int] {
  String(decoding: line.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    .split(separator: " ").compactMap { Int($0) }
}

func text(_ number: Int?) -> String { number.map { "\($0)" } ?? "" }

let words = Array(CommandLine.arguments.dropFirst())
if let mode = words.first, ["served", "bare"].contains(mode), let count = words.last.flatMap({ Int($0) }) {
  let costs = try measure(count, isServed: mode == "served")
  print(costs.memory, costs.accept, costs.answer, costs.timer)
} else if words.first == "hosts" {
  let sizes = words.dropFirst().compactMap { Int($0) }
  print("| hosts | an answer, ns | an answer with a seed, ns | simulated hours a second |")
  print("| --: | --: | --: | --: |")
  for count in sizes.isEmpty ? [1, 2, 10, 41, 100] : sizes {
    let costs = try measureHosts(count)
    let hours = costs.hours < 10 ? "\((costs.hours * 10).rounded() / 10)" : "\(Int(costs.hours))"
    print("| \(count) | \(text(costs.answer)) | \(text(costs.seeded)) | \(hours) |")
  }
} else {
  let sizes = words.compactMap { Int($0) }
  print("| connections | bytes each | of the simulated kernel | connect and accept, ns | an answer, ns | a timer, ns |")
  print("| --: | --: | --: | --: | --: | --: |")
  for count in sizes.isEmpty ? [1_000, 10_000, 100_000, 1_000_000] : sizes {
    let (bare, served) = (measureApart(count, "bare"), measureApart(count, "served"))
    guard bare.count == 4, served.count == 4 else { fatalError("\(count) connections could not be measured.") }
    print("| \(count) | \(served[0]) | \(bare[0]) | \(served[1]) | \(served[2]) | \(served[3]) |")
  }
}
