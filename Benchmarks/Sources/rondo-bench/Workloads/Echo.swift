import CBench

/// An echo server, one program for each subject, and clients that are the same for all: each has one request under way.
///
/// Server and clients have a processor each. The figure is what a request takes with all connections busy: the less it
/// is, the more requests a second. Of a machine with one processor it would say more about the clients.
struct Echo: Workload {
  private let connections: Int
  private let bytes: Int
  /// Clients beside them that send without a pause.
  private let floods: Int

  init(_ connections: Int, _ bytes: Int, floods: Int = 0) {
    (self.connections, self.bytes, self.floods) = (connections, bytes, floods)
  }

  /// Those that have a program under Sources/Echo.
  private static let servers: Set<String> = [
    "raw", "libevent", "libuv", "dispatch", "nio", "nio.async", "rondo", "rondo.sockets", "rondo.async",
  ]

  var name: String { "echo.\(connections).\(bytes)\(floods > 0 ? ".flood" : "")" }
  var summary: String {
    "\(connections) clients of an echo server, \(bytes) bytes\(floods > 0 ? ", beside one that floods it" : ""): a request"
  }

  var obstacle: String? {
    Processors().all.count < 2 ? "needs two processors" : nil
  }

  /// `size` is in milliseconds.
  func plan(_ effort: Effort) -> Plan {
    switch effort {
    case .quick: Plan(rounds: 3, discarded: 0, size: 60, onRequest: bytes > 64)
    case .full: Plan(rounds: 9, size: 1000)
    }
  }

  func round(of subject: any Subject, size: Int) throws(Refusal) -> Round {
    guard Self.servers.contains(subject.name) else { throw .cannot("has no echo server here") }
    var clients = bench_clients()
    (clients.connections, clients.bytes, clients.floods) = (CInt(connections), bytes, CInt(floods))
    let figures = try Serving.measure(Serving.program("echo", of: subject), by: clients, size: size)
    // A process grows by pages, so few connections say nothing.
    return Round([Serving.part(of: figures, hasMemory: connections >= 1000)])
  }
}
