import COpenSSLPeer
import Rondo
import RondoSockets
import RondoTLS
import RondoTesting
import Synchronization
import Testing

/// A server that is secured, and a client that is an end by OpenSSL itself, after the handshake.
final class Flooded: Sendable {
  let server: Host
  let client: Host
  let peer: OpenSSLEnd
  private let end = Mutex<Connection?>(nil)
  private let heard = Mutex("")
  private let ended = Mutex<ConnectionError?>(nil)

  init(_ simulation: Simulation, isOld: Bool = false) throws {
    peer = OpenSSLEnd(isServer: false, isOld: isOld)
    (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
    let address = try SocketAddress(parsing: "10.0.0.1:443")
    let context = try Certificates.server()
    server.start { [server, self] in
      let listener = try Listener(at: address)
      try await listener.serve(on: server.loop) { connection in
        let connection = try await connection.secured(by: context)
        do throws(ConnectionError) {
          while let bytes = try await connection.read() {
            self.heard.withLock { $0 += String(decoding: bytes, as: UTF8.self) }
          }
        } catch {
          self.ended.withLock { $0 = error }
        }
      }
    }
    client.start { [client, self] in
      let connection = try await Connection.connected(to: address, on: client.loop)
      try await self.peer.shakeHands(over: connection)
      self.end.withLock { $0 = connection }
    }
    let isConnected = simulation.run(until: { self.end.withLock { $0 != nil } })
    #expect(isConnected)
    // The server's tickets.
    simulation.run(for: .seconds(1))
  }

  /// The client's end, in plain.
  var connection: Connection { end.withLock { $0! } }

  /// Why the server reads no more.
  var failure: ConnectionError? { ended.withLock { $0 } }

  /// What the server has received.
  var text: String { heard.withLock { $0 } }
}

/// An end by OpenSSL itself, on bytes that its test moves. *one thread at a time*
final class OpenSSLEnd: @unchecked Sendable {
  private let pointer: OpaquePointer
  private(set) var text = ""

  init(isServer: Bool, isOld: Bool = false) {
    pointer = peer_new(
      isServer ? 1 : 0, isOld ? 1 : 0, Certificates.path("server.pem"), Certificates.path("server.key"))
  }

  deinit { peer_free(pointer) }

  func shakeHands(over connection: Connection) async throws {
    while true {
      try await connection.write(output())
      if isOpen { break }
      guard let bytes = try await connection.read() else { return }
      take(bytes)
    }
  }

  private(set) var isOpen = false

  func take(_ bytes: [UInt8]) {
    isOpen = peer_take(pointer, bytes, bytes.count) != 0
    guard isOpen else { return }
    var room = [UInt8](repeating: 0, count: 16_384)
    while case let count = peer_read(pointer, &room, room.count), count > 0 {
      text += String(decoding: room[..<count], as: UTF8.self)
    }
  }

  func output() -> [UInt8] {
    var all: [UInt8] = []
    var room = [UInt8](repeating: 0, count: 65_536)
    while case let count = peer_give(pointer, &room, room.count), count > 0 { all += room[..<count] }
    return all
  }

  func write(_ text: String) { peer_write(pointer, Array(text.utf8), text.utf8.count) }

  func renewKeys() { peer_renew_keys(pointer) }

  func renegotiate() { peer_renegotiate(pointer) }

  func sendTicket() { peer_send_ticket(pointer) }
}
