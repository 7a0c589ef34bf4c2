import CBench

/// An HTTP server that answers with one line, one program for each subject, and clients that are the same for all.
///
/// As in `Echo`, server and clients have a processor each, and the figure is what a request takes with all connections
/// busy. A handshake costs the clients more than a fast server: there, the figure is the server's processor time.
struct HTTP: Workload {
  enum Transport {
    case plain, secured
    /// TLS with a new connection for each request.
    case handshake
  }

  private let transport: Transport
  private let connections: Int

  init(_ transport: Transport, _ connections: Int) {
    (self.transport, self.connections) = (transport, connections)
  }

  /// What the clients ask, and what they take for the answer.
  static let page = Serving.Page(request: "GET / HTTP/1.1\r\nHost: a\r\n\r\n", body: "hello\n")

  /// Those that have a program under Sources/HTTP, and those that have one under Sources/HTTPS.
  private static let servers: Set<String> = ["hummingbird", "rondo", "rondo.hummingbird"]
  private static let secureServers: Set<String> = ["openssl", "hummingbird", "rondo"]

  var name: String {
    switch transport {
    case .plain: "http.\(connections)"
    case .secured: "https.\(connections)"
    case .handshake: "tls.handshake"
    }
  }

  var summary: String {
    let clients = connections == 1 ? "a client" : "\(connections) clients"
    return switch transport {
    case .plain: "\(clients) of an HTTP server: a GET that is answered by one line"
    case .secured: "\(clients) of an HTTP server over TLS 1.3: a GET that is answered by one line"
    case .handshake: "\(clients) of an HTTP server over TLS 1.3: processor time of a full handshake and a GET"
    }
  }

  var obstacle: String? {
    Processors().all.count < 2 ? "needs two processors" : nil
  }

  /// `size` is in milliseconds.
  func plan(_ effort: Effort) -> Plan {
    switch effort {
    case .quick: Plan(rounds: 3, discarded: 0, size: 60)
    case .full: Plan(rounds: 9, size: 1000)
    }
  }

  func round(of subject: any Subject, size: Int) throws(Refusal) -> Round {
    let isSecure = transport != .plain
    guard (isSecure ? Self.secureServers : Self.servers).contains(subject.name) else {
      throw .cannot("has no such HTTP server here")
    }
    guard !isSecure || bench_has_tls() else {
      throw .absent("the clients were built without OpenSSL; install libssl-dev")
    }
    var clients = bench_clients()
    clients.connections = CInt(connections)
    (clients.are_secure, clients.are_new) = (isSecure, transport == .handshake)
    let program = try Serving.program(isSecure ? "https" : "http", of: subject)
    let figures = try Serving.measure(program, by: clients, for: Self.page, size: size)
    if transport == .handshake {
      return Round([Serving.part(of: figures, counting: "handshakes", byProcessor: true, hasMemory: false)])
    }
    // A process grows by pages, and a connection has more of them with TLS.
    return Round([Serving.part(of: figures, hasMemory: connections >= (isSecure ? 64 : 500))])
  }
}
