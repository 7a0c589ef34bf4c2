// An echo server for IPv4, IPv6 and Unix-domain sockets, as systemd likes it.
//
//   rondo-echo [--listen ADDRESS]... [--threads N] [--idle SECONDS] [--linger SECONDS] [--drain SECONDS]
//
// It takes the sockets that systemd has opened, or listens at the addresses. SIGTERM ends it when all are served: a
// client that is then quiet for the seconds to linger counts as served. The drain's seconds are the most that it takes.

import Glibc
import Rondo
import RondoDaemon
import RondoSockets

/// The clients of one loop. Only the loop's thread uses it.
final class Worker: @unchecked Sendable {
  let loop: Loop
  private var limit: Duration
  private var clients: [ObjectIdentifier: Client] = [:]

  private struct Client {
    let source: SocketSource
    let idle: Loop.Timeout
    let place: LoopGroup.Place
    let work: Daemon.Work
  }

  init(_ loop: Loop, limit: Duration) {
    self.loop = loop
    self.limit = limit
  }

  func take(_ socket: Socket, _ place: LoopGroup.Place, _ work: Daemon.Work) {
    let source = SocketSource(socket, for: .data) { source, event in self.serve(source, event) }
    let idle = loop.makeIdleTimeout(of: source, after: limit, tolerance: .milliseconds(50)) { self.drop(source) }
    clients[ObjectIdentifier(source)] = Client(source: source, idle: idle, place: place, work: work)
    loop.add(source)
  }

  private func serve(_ source: SocketSource, _ event: SocketSource.Event) {
    guard let client = clients[ObjectIdentifier(source)] else { return }
    loop.arm(client.idle, after: limit)
    switch event {
    case .received(let bytes) where (try? source.send(bytes)) != nil:
      if source.queuedByteCount > 0 { source.disable(.data) }  // A client that does not read is not read from.
    case .sent: source.enable(.data)
    default: drop(source)
    }
  }

  private func drop(_ source: SocketSource) {
    guard let client = clients.removeValue(forKey: ObjectIdentifier(source)) else { return }
    loop.discard(client.idle)
    source.invalidate()
    client.place.leave()
    client.work.end()
  }

  /// From now on a client that is quiet for so long has been served.
  func finish(lingering: Duration) {
    limit = min(limit, lingering)
    for client in clients.values { loop.arm(client.idle, after: limit) }
  }
}

/// What the command line says.
struct Options {
  var addresses: [String] = []
  var threads = 0
  var idle = 60.0
  var linger = 0.25
  var drain = 20.0

  init(_ arguments: [String]) {
    var rest = arguments.dropFirst()
    while let option = rest.popFirst() {
      let value = rest.popFirst() ?? ""
      switch option {
      case "--listen": addresses.append(value)
      case "--threads" where 0...1024 ~= Int(value) ?? -1: threads = Int(value)!
      case "--idle" where Double(value) ?? 0 > 0: idle = Double(value)!
      case "--linger" where Double(value) ?? 0 > 0: linger = Double(value)!
      case "--drain" where Double(value) ?? 0 > 0: drain = Double(value)!
      default:
        print(
          "usage: rondo-echo [--listen ADDRESS]... [--threads N] [--idle SECONDS] [--linger SECONDS] [--drain SECONDS]")
        exit(2)
      }
    }
    if addresses.isEmpty { addresses = ["127.0.0.1:7007"] }
  }
}

/// Serves until it is told to stop; what to exit with.
func serve(_ options: Options) throws -> CInt {
  let daemon = try Daemon(grace: .seconds(options.drain))
  let group = options.threads == 0 ? LoopGroup(of: [.main]) : try LoopGroup(threads: options.threads, name: "echo")
  let workers = group.loops.map { Worker($0, limit: .seconds(options.idle)) }
  let linger = Duration.seconds(options.linger)
  daemon.whenStopping { for worker in workers { worker.loop.perform { worker.finish(lingering: linger) } } }
  @Sendable func welcome(_ socket: Socket) {
    let (place, work) = (group.place(by: .roundRobin), daemon.beginWork())
    place.loop.perform { workers[place.index].take(socket, place, work) }
  }
  // systemd keeps the files of its own sockets.
  var listeners = try ActivatedDescriptor.all().map { try Listener($0.socket()) }
  if listeners.isEmpty { listeners = try options.addresses.map { try Listener(at: SocketAddress(parsing: $0)) } }
  for listener in listeners {
    let door = SocketSource(listener.socket, for: .accept) { _, event in
      if case .accepted(let socket, from: _) = event { welcome(socket) }
    }
    daemon.loop.add(door, to: .common)
    daemon.whenStopping {
      while let (socket, _) = try? listener.socket.accept() { welcome(socket) }
      door.invalidate()
      listener.stop()
    }
    print("listening at \(listener.address)")
  }
  listeners = []
  fflush(nil)
  let outcome = daemon.run()
  group.stop()
  return outcome.exitCode
}

do {
  exit(try serve(Options(CommandLine.arguments)))
} catch {
  print("rondo-echo: \(error)")
  exit(1)
}
