// Counts what other programs tell it by UDP, and shows it: a daemon with its pages, its limits and its restarts.
//
//   make run EXAMPLE=rondo-status ARGS="127.0.0.1:8080"
//
// The pages are at that address: /, /metrics, /healthz and /readyz. Datagrams such as "orders 3" come to the next port,
// and a console answers at the one after it: echo orders 3 >/dev/udp/127.0.0.1/8081, then nc 127.0.0.1 8082. SIGUSR2
// replaces the process by a new one, without a refused client. SIGTERM and Ctrl-C end it when all clients have their
// answers.

import Glibc
import RondoHTTP
import RondoInspect
import RondoServer

/// What was counted, by its name.
@MainActor final class Board {
  private var counts: [String: (sum: Int, inLastSecond: Int, rate: Int)] = [:]
  private var refused = 0
  /// A sender that makes up names is not to fill the memory.
  private static let mostNames = 1_000

  /// "orders 3" adds 3 to orders; a name alone adds 1.
  func take(_ bytes: [UInt8]) {
    for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
      let words = line.split(separator: " ")
      guard 1...2 ~= words.count, let name = words.first.map(String.init), Self.isName(name),
        let number = words.count == 1 ? 1 : Int(words[1]), 0...1_000_000_000 ~= number,
        counts[name] != nil || counts.count < Self.mostNames
      else {
        refused += 1
        continue
      }
      let count = counts[name] ?? (0, 0, 0)
      counts[name] = (count.sum &+ number, count.inLastSecond + number, count.rate)
    }
  }

  private static func isName(_ text: String) -> Bool {
    text.utf8.count <= 64
      && text.utf8.allSatisfy { UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 || $0 == UInt8(ascii: "_") }
  }

  /// A second has passed.
  func tick() {
    for (name, count) in counts { counts[name] = (count.sum, 0, count.inLastSecond) }
  }

  private var rows: [(name: String, sum: Int, rate: Int)] {
    counts.sorted { $0.key < $1.key }.map { ($0.key, $0.value.sum, $0.value.rate) }
  }

  /// In Prometheus's text form.
  var metrics: String {
    "# TYPE status_count_total counter\n"
      + rows.map { "status_count_total{name=\"\($0.name)\"} \($0.sum)\n" }.joined()
      + "# TYPE status_refused_total counter\nstatus_refused_total \(refused)\n"
  }

  /// For a browser. A name has no character that HTML means something by.
  var page: String {
    """
    <!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="1">
    <title>rondo-status</title></head><body><h1>Counts</h1>
    <table><tr><th>name</th><th>sum</th><th>in the last second</th></tr>
    \(rows.map { "<tr><td>\($0.name)</td><td>\($0.sum)</td><td>\($0.rate)</td></tr>" }.joined(separator: "\n"))
    </table></body></html>

    """
  }

  /// What the console answers to a line.
  func answer(to line: String) -> String {
    let words = line.split(separator: " ").map(String.init)
    switch (words.first, words.count) {
    case ("counts", 1): return rows.map { "\($0.name) \($0.sum)\n" }.joined() + "\(rows.count) names\n"
    case ("forget", 2): return counts.removeValue(forKey: words[1]) == nil ? "unknown\n" : "forgotten\n"
    default: return "counts, forget NAME, quit\n"
    }
  }
}

extension SocketAddress {
  /// The same host, at a port so much higher.
  fileprivate func moved(by number: UInt16) -> SocketAddress {
    switch self {
    case .ipv4(let host, let port): .ipv4(host, port: port &+ number)
    case .ipv6(let host, let port, let scope): .ipv6(host, port: port &+ number, scope: scope)
    case .unix: self
    }
  }
}

/// Answers a request for a page.
func answer(
  _ request: HTTPServerRequest, _ response: HTTPServerResponse, _ daemon: Daemon, _ board: Board
) async throws {
  guard request.head.method == .get || request.head.method == .head else {
    return try await response.send(.init(status: .methodNotAllowed, headerFields: [.allow: "GET, HEAD"]))
  }
  switch request.head.path?.split(separator: "?", omittingEmptySubsequences: false).first {
  case "/": try await response.send(await board.page, type: "text/html; charset=utf-8")
  // The process lives, and its loop turns.
  case "/healthz": try await response.send("ok\n")
  // A balancer sends no client to a daemon that begins or stops.
  case "/readyz":
    let isReady = daemon.isReady
    try await response.send(isReady ? "ready\n" : "not ready\n", status: isReady ? .ok : .serviceUnavailable)
  case "/metrics":
    let text = Inspector.prometheusText(of: [daemon.loop]) + (await board.metrics)
    try await response.send(text, type: "text/plain; version=0.0.4")
  default: try await response.send("There is no such page.\n", status: .notFound)
  }
}

/// Serves until it is told to stop.
func run(_ address: SocketAddress, _ daemon: Daemon) async throws {
  let board = Board()
  // A successor gets these three by their names.
  let pages = try daemon.listener("pages", at: address)
  let console = try daemon.listener("console", at: address.moved(by: 2))
  let place = address.moved(by: 1)
  let datagrams = try daemon.socket("input", at: place, or: .datagram(at: place))
  let input = SocketSource(
    datagrams, for: .data,
    handler: isolated(to: .shared) { _, event in if case .datagram(let one) = event { board.take(one.bytes) } })
  daemon.loop.add(input, to: .common)
  daemon.whenStopping { input.invalidate() }
  daemon.loop.add(Loop.Timer(every: .seconds(1), handler: isolated(to: .shared) { _ in board.tick() }), to: .common)

  // A loop that is stuck for half of the watchdog's time does not come back: systemd is told in which callout.
  let monitor = try StallMonitor(limit: daemon.watchdogPeriod.map { $0 / 2 } ?? .seconds(5)) { stall in
    StallMonitor.write(stall)
    if daemon.watchdogPeriod != nil, !stall.isOver { daemon.triggerWatchdog("\(stall)") }
  }
  monitor.watch(daemon.loop)
  try daemon.allowSuccessor()
  print("Pages at \(pages.address), input at \(place), console at \(console.address). Ctrl-C ends it.")
  fflush(nil)
  daemon.ready()

  let few = ServerLimits(connections: 16, idle: .seconds(300))
  async let talking: Void = daemon.serve(console, limits: few) { client in
    while try await client.awaitRequest(), let line = try await client.readLine(limit: 256), line != "quit" {
      try await client.write(await board.answer(to: line))
    }
  }
  let server = HTTPServer { request, response in try await answer(request, response, daemon, board) }
  try await daemon.serve(pages, limits: ServerLimits(connections: 1_000, idle: .seconds(30), bodyBytes: 1_024)) {
    try await server.serve($0)
  }
  try await talking
  withExtendedLifetime(monitor) {}
}

do {
  let address = try SocketAddress(parsing: CommandLine.arguments.dropFirst().first ?? "127.0.0.1:8080")
  exit(try await withDaemon(grace: .seconds(10)) { try await run(address, $0) }.exitCode)
} catch {
  print("rondo-status: \(error)")
  exit(1)
}
