import Glibc
import Rondo
import RondoAsync
import RondoDaemon
import RondoSockets

/// Echoes what clients send. Its handlers belong to the main actor, so they may use its state.
@MainActor final class EchoService {
  private var peers: [ObjectIdentifier: SocketSource] = [:]
  private var idle: Set<ObjectIdentifier> = []
  init(_ listener: Socket, limit: Duration) {
    Loop.main.add(
      SocketSource(listener, for: .accept, handler: isolated(to: .shared) { _, event in self.accept(event) }))
    Loop.main.add(
      Loop.Timer(every: limit, tolerance: limit / 10, handler: isolated(to: .shared) { _ in self.dropIdle() }))
  }
  private func accept(_ event: SocketSource.Event) {
    if case .failed(let error) = event { fatalError("Nobody can connect any more: \(error)") }
    guard case .accepted(let socket, from: _) = event else { return }  // No descriptor is left: it pauses by itself.
    let peer = SocketSource(
      socket, for: .data, handler: isolated(to: .shared) { peer, event in self.echo(event, peer) })
    if Loop.main.add(peer) { peers[ObjectIdentifier(peer)] = peer }
  }
  private func echo(_ event: SocketSource.Event, _ peer: SocketSource) {
    idle.remove(ObjectIdentifier(peer))
    switch event {
    case .received(let bytes) where (try? peer.send(bytes)) != nil:
      if peer.queuedByteCount > 0 { peer.disable(.data) }  // A client that does not read is not read from.
    case .sent: peer.enable(.data)
    default: peers.removeValue(forKey: ObjectIdentifier(peer))?.invalidate()
    }
  }
  private func dropIdle() {
    for id in idle { peers.removeValue(forKey: id)?.invalidate() }
    idle = Set(peers.keys)
  }
}

let address = try SocketAddress(parsing: CommandLine.arguments.dropFirst().first ?? "127.0.0.1:7007")
let service = EchoService(try .listening(at: address), limit: .seconds(Double(CommandLine.arguments.last ?? "") ?? 30))
Loop.main.add(try SignalSource(SIGTERM) { _, _ in Loop.main.stop() }, to: .common)
Loop.main.run()
