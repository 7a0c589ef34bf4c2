#if RONDO_TLS
  import CGuests
  import Foundation
  import Glibc
  import Rondo
  import RondoSockets
  import RondoTLS
  import Testing

  /// Certificates of an hour, and what is wrong with some of them.
  enum Certificates {
    /// Made once in a process.
    static let directory: String = {
      let directory = "/tmp/rondo-tls-\(UUID().uuidString)"
      precondition(mkdir(directory, 0o700) == 0)
      let day = 86_400
      let hosts = "DNS:rondo.test,DNS:*.many.test,IP:127.0.0.1"
      for (name, hosts, from, to, issuer) in [
        ("authority", nil, -day, day, nil),
        ("stranger", nil, -day, day, nil),
        ("server", hosts, -day, day, "authority"),
        ("expired", hosts, -2 * day, -day, "authority"),
        ("early", hosts, day, 2 * day, "authority"),
        ("untrusted", hosts, -day, day, "stranger"),
        // A name in its subject alone.
        ("named.test", nil, -day, day, "authority"),
      ] as [(String, String?, Int, Int, String?)] {
        precondition(guest_certificate(directory, name, hosts, from, to, issuer, nil) == 0)
      }
      precondition(guest_certificate(directory, "locked", hosts, -day, day, "authority", "secret") == 0)
      atexit { try? FileManager.default.removeItem(atPath: Certificates.directory) }
      return directory
    }()

    static func path(_ name: String) -> String { "\(directory)/\(name)" }

    static func server(_ name: String = "server", protocols: [String] = []) throws -> TLSServerContext {
      try TLSServerContext(
        certificateChain: path("\(name).pem"), privateKey: path("\(name).key"), protocols: protocols)
    }

    static func client(trusting name: String = "authority", protocols: [String] = []) throws -> TLSClientContext {
      try TLSClientContext(trusting: .authorities(file: path("\(name).pem")), protocols: protocols)
    }
  }

  /// One end of a connection, and what it was told, in one loop.
  final class End: @unchecked Sendable {
    var connection: TLSConnection!
    private(set) var events: [TLSConnection.Event] = []
    private(set) var received: [UInt8] = []
    /// Called after each event.
    var told: (TLSConnection.Event) -> Void = { _ in }

    func hear(_ event: TLSConnection.Event) {
      if case .received(let bytes) = event { received += bytes } else { events.append(event) }
      told(event)
    }

    var failure: TLSError? {
      if case .failed(let error) = events.last { error } else { nil }
    }

    func send(_ text: String) {
      do { try connection.send(Array(text.utf8)) } catch { Issue.record(error) }
    }

    var text: String { String(decoding: received, as: UTF8.self) }
  }

  /// What a test of a client and a server in one loop has.
  struct Pair {
    let stage: Stage
    let client: End
    let server: End

    /// Runs the loop until this is true, a minute at most; whether it was.
    @discardableResult
    func run(until isDone: @escaping () -> Bool) -> Bool {
      stage.run(until: isDone)
    }

    func connect() -> Bool {
      run { client.events == [.connected] && server.events == [.connected] }
    }

    /// Ends both.
    func end() {
      for end in [client, server] {
        end.told = { _ in }
        end.connection?.invalidate()
      }
    }
  }

  extension Stage {
    /// Runs the loop, one event at a time, until this is true, a minute at most; whether it was.
    func run(until isDone: () -> Bool) -> Bool {
      let end = SuspendingClock.now.advanced(by: .seconds(60))
      while !isDone() {
        if SuspendingClock.now > end { return false }
        loop.run(for: .milliseconds(200), returnAfterSourceHandled: true)
      }
      return true
    }
  }

  /// Runs `body` with the loop of a new thread, and suspends until it is done: tasks need the runtime's threads.
  func onLoop(_ body: @escaping @Sendable (Stage) -> Void) async {
    await withCheckedContinuation { continuation in
      _ = TestThread {
        let stage = Stage()
        body(stage)
        stage.finish()
        continuation.resume()
      }
    }
  }

  /// Runs `body` with a loop of its own thread.
  func withLoop<Result>(_ body: (Loop) async throws -> Result) async throws -> Result {
    let thread = try LoopThread(name: "tls")
    do {
      let result = try await body(thread.loop)
      await thread.end()
      return result
    } catch {
      await thread.end()
      throw error
    }
  }

  /// Runs `body` with a client and a server that are about to shake hands, in the loop of a new thread.
  func withPair(
    host: String = "rondo.test", trusting authority: String = "authority", server name: String = "server",
    clientProtocols: [String] = [], serverProtocols: [String] = [],
    limits: TLSConnection.Limits = .init(), serverLimits: TLSConnection.Limits? = nil, mode: Loop.Mode = .default,
    _ body: @escaping @Sendable (Pair) throws -> Void
  ) async {
    await onLoop { stage in
      do {
        let pair = Pair(stage: stage, client: End(), server: End())
        // Nobody else holds the sockets: they are closed with their connections.
        do {
          let (left, right) = try Socket.pair()
          pair.client.connection = TLSConnection(
            over: left, as: host, with: try Certificates.client(trusting: authority, protocols: clientProtocols),
            limits: limits
          ) { [client = pair.client] _, event in client.hear(event) }
          pair.server.connection = TLSConnection(
            accepting: right, with: try Certificates.server(name, protocols: serverProtocols),
            limits: serverLimits ?? limits
          ) { [server = pair.server] _, event in server.hear(event) }
        }
        try stage.loop.add(pair.client.connection, to: mode)
        try stage.loop.add(pair.server.connection, to: mode)
        try body(pair)
        pair.end()
      } catch {
        Issue.record(error)
      }
    }
  }

  /// Runs `body` with a server and the bare socket of its client.
  func withRawClient(
    limits: TLSConnection.Limits = .init(), _ body: @escaping @Sendable (Stage, End, Socket) throws -> Void
  ) async {
    await onLoop { stage in
      do {
        let (left, right) = try Socket.pair()
        let server = End()
        server.connection = TLSConnection(accepting: right, with: try Certificates.server(), limits: limits) {
          _, event in server.hear(event)
        }
        try stage.loop.add(server.connection)
        try body(stage, server, left)
        server.told = { _ in }
        server.connection.invalidate()
      } catch {
        Issue.record(error)
      }
    }
  }
#endif
