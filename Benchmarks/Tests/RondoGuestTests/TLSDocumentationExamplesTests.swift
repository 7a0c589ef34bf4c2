#if RONDO_TLS
  import Rondo
  import RondoSockets
  import RondoTLS
  import Synchronization
  import Testing

  // The examples of RondoTLS.md, servers, with clients for them. `ExampleTextTests` compares the two texts.

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
          #expect(log.text == "hello")
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
    }

    @Test func `RondoTLS: a server and its client in async code`() async throws {
      let (chain, key) = (Certificates.path("server.pem"), Certificates.path("server.key"))
      let (authorities, address) = (Certificates.path("authority.pem"), SocketAddress.loopback())
      try await withLoop { loop in
        let (listener, serving) = try Self.serve(at: address, on: loop, chain, key)
        let log = Log()
        try await Self.connect(to: listener.localAddress!, on: loop, authorities, log)
        #expect(log.text == "hello")
        serving.cancel()
        try await serving.value
      }
    }

    private static func serve(
      at address: SocketAddress, on loop: Loop, _ chain: String, _ key: String
    ) throws -> (Socket, Task<Void, any Error>) {
      let context = try TLSServerContext(certificateChain: chain, privateKey: key)
      let listener = try Socket.listening(at: address)
      let serving = Task {
        try await listener.serve(on: loop) { connection in
          let connection = try await connection.secured(by: context)
          for try await bytes in connection { try await connection.write(bytes) }
        }
      }
      return (listener, serving)
    }

    private static func connect(
      to address: SocketAddress, on loop: Loop, _ authorities: String, _ log: Log
    ) async throws {
      let trust = try TLSClientContext(trusting: .authorities(file: authorities))
      let plain = try await Connection.connected(to: address, on: loop)
      let connection = try await plain.secured(as: "rondo.test", by: trust)
      try await connection.write("hello")
      try await connection.finishWriting()
      for try await bytes in connection { log.note(String(decoding: bytes, as: UTF8.self)) }
    }
  }
#endif
