import COpenSSLPeer
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
      ("renewed", hosts, -day, day, "authority"),
      ("many", hosts, -day, day, "authority"),
      ("two", hosts, -day, day, "authority"),
      ("client", nil, -day, day, "authority"),
      // A name in its subject alone.
      ("named.test", nil, -day, day, "authority"),
    ] as [(String, String?, Int, Int, String?)] {
      precondition(peer_certificate(directory, name, hosts, from, to, issuer, nil) == 0)
    }
    precondition(peer_certificate(directory, "locked", hosts, -day, day, "authority", "secret") == 0)
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

func pattern(_ count: Int, seed: Int = 0) -> [UInt8] {
  (0..<count).map { UInt8(truncatingIfNeeded: ($0 + seed) &* 2_654_435_761 >> 13) }
}

func everything(from connection: Connection) async throws -> [UInt8] {
  var all: [UInt8] = []
  for try await bytes in connection { all += bytes }
  return all
}

/// What `body` throws.
func failure(_ body: () async throws -> Void) async -> ConnectionError? {
  do {
    try await body()
    return nil
  } catch {
    return error as? ConnectionError
  }
}

/// Runs `body` with two connections to each other.
func withPlain(_ body: (Loop, Connection, Connection) async throws -> Void) async throws {
  try await withLoop { loop in
    let (near, far) = try Connection.pair(on: loop)
    try await body(loop, near, far)
  }
}

/// Shakes hands.
func secure(
  _ near: Connection, _ far: Connection, as host: String = "rondo.test", clientProtocols: [String] = [],
  serverProtocols: [String] = []
) async throws -> (client: Connection, server: Connection) {
  let context = try Certificates.server(protocols: serverProtocols)
  async let server = far.secured(by: context)
  let client = try await near.secured(as: host, by: Certificates.client(protocols: clientProtocols))
  return (client, try await server)
}

/// The same, by other contexts.
func secure(
  _ pair: (Connection, Connection), as host: String = "rondo.test", _ client: TLSClientContext? = nil,
  _ server: TLSServerContext? = nil
) async throws -> (client: Connection, server: Connection) {
  let (client, server) = (try client ?? Certificates.client(), try server ?? Certificates.server())
  async let far = pair.1.secured(by: server)
  let near = try await pair.0.secured(as: host, by: client)
  return (near, try await far)
}

/// Runs `body` with both ends of a secured connection.
func withSecured(_ body: (Connection, Connection) async throws -> Void) async throws {
  try await withPlain { _, near, far in
    let (client, server) = try await secure(near, far)
    try await body(client, server)
  }
}

/// How a handshake fails on both sides.
func failures(
  host: String = "rondo.test", server name: String = "server", clientProtocols: [String] = [],
  serverProtocols: [String] = []
) async throws -> (client: ConnectionError?, server: ConnectionError?) {
  try await withLoop { loop in
    let (near, far) = try Connection.pair(on: loop)
    let context = try Certificates.server(name, protocols: serverProtocols)
    async let server = failure { _ = try await far.secured(by: context) }
    let client = await failure {
      _ = try await near.secured(as: host, by: Certificates.client(protocols: clientProtocols))
    }
    #expect(near.isClosed)
    return (client, await server)
  }
}
