#if RONDO_TLS
  import Rondo
  import RondoSockets
  import RondoTLS
  import Synchronization
  import Testing

  // The example of RondoTLS.md, a server, with a client for it. `ExampleTextTests` compares the two texts.

  @Suite struct TLSDocumentationExamplesTests {
    private final class Log: Sendable {
      private let notes = Mutex<[String]>([])
      func note(_ text: String) { notes.withLock { $0.append(text) } }
      var text: String { notes.withLock { $0.joined(separator: ", ") } }
    }

    @Test func `RondoTLS: a server and its client`() async {
      await onLoop { stage in
        do {
          let log = Log()
          try Self.run(stage, log)
          #expect(log.text == "hello, 3 bytes")
        } catch {
          Issue.record(error)
        }
      }
    }

    private static func run(_ stage: Stage, _ log: Log) throws {
      let loop = stage.loop
      let (chain, key) = (Certificates.path("server.pem"), Certificates.path("server.key"))
      let authorities = Certificates.path("authority.pem")
      let address = try SocketAddress(parsing: Certificates.path("socket"))

      let context = try TLSServerContext(certificateChain: chain, privateKey: key, protocols: ["echo"])
      let listener = SocketSource(try .listening(at: address), for: .accept) { _, event in
        guard case .accepted(let socket, from: _) = event else { return }
        let connection = TLSConnection(accepting: socket, with: context) { connection, event in
          switch event {
          case .received(let bytes): try? connection.send(bytes)
          case .end: connection.close()
          case .failed(let error): print(error)
          default: break
          }
          // Stop reading from a client that does not read.
          if connection.isValid { connection.isReceiving = !connection.isCongested }
        }
        do { try loop.add(connection) } catch { print(error) }
      }
      loop.add(listener)

      defer { listener.invalidate() }
      let client = try TLSClientContext(trusting: .authorities(file: authorities), protocols: ["echo"])
      let connection = try TLSConnection(connectingTo: address, as: "rondo.test", with: client) { connection, event in
        switch event {
        case .connected: try? connection.send(Array("hello".utf8))
        case .received(let bytes):
          log.note(String(decoding: bytes, as: UTF8.self))
          connection.close()
        case .failed(let error): log.note("\(error)")
        default: break
        }
      }
      try loop.add(connection)

      #expect(stage.run { !connection.isValid })
      try sequence(stage, log, try TLSConnection(connectingTo: address, as: "rondo.test", with: client) { _, _ in })
    }

    private static func sequence(_ stage: Stage, _ log: Log, _ connection: TLSConnection) throws {
      try stage.loop.add(connection)
      let received = connection.received()
      let reader = Task {
        for try await bytes in received { log.note("\(bytes.count) bytes") }
      }
      try connection.send([1, 2, 3])
      #expect(stage.run { log.text.contains("bytes") })
      connection.invalidate()
      _ = reader
    }
  }
#endif
