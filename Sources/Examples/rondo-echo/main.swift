// An echo server for IPv4, IPv6 and Unix-domain sockets, as systemd likes it.
//
//   rondo-echo [--listen ADDRESS]... [--threads N] [--idle SECONDS] [--drain SECONDS]
//
// It takes the sockets that systemd has opened, or listens at the addresses. SIGTERM ends it when all are served.

import Glibc
import Rondo
import RondoDaemon
import RondoSockets

/// The clients of one loop. Its own thread uses it, and nobody else.
final class Worker: @unchecked Sendable {
  let loop: Loop
  private var limit: Duration
  private var clients: [ObjectIdentifier: Client] = [:]

  private struct Client {
    let source: SocketSource
    let idle: Loop.Timeout
    let work: Daemon.Work
  }

  init(_ loop: Loop, limit: Duration) {
    self.loop = loop
    self.limit = limit
  }

  func take(_ socket: Socket, _ work: Daemon.Work) {
    let source = SocketSource(socket, for: .data) { source, event in self.serve(source, event) }
    let idle = loop.makeIdleTimeout(of: source, after: limit, tolerance: .milliseconds(50)) { self.drop(source) }
    clients[ObjectIdentifier(source)] = Client(source: source, idle: idle, work: work)
    loop.add(source)
  }

  private func serve(_ source: SocketSource, _ event: SocketSource.Event) {
    guard let client = clients[ObjectIdentifier(source)] else { return }
    loop.arm(client.idle, after: limit)
    switch event {
    case .received(let bytes, from: _) where (try? source.send(bytes)) != nil:
      if source.queuedByteCount > 0 { source.disable(.data) }  // Who does not read is not read from.
    case .sent: source.enable(.data)
    default: drop(source)
    }
  }

  private func drop(_ source: SocketSource) {
    guard let client = clients.removeValue(forKey: ObjectIdentifier(source)) else { return }
    loop.discard(client.idle)
    source.invalidate()
    client.work.end()
  }

  /// From now on a client that is quiet for a moment has been served.
  func finish() {
    limit = min(limit, .milliseconds(250))
    for client in clients.values { loop.arm(client.idle, after: limit) }
  }
}

/// Where connections come in. The main thread uses it, and nobody else.
final class Door: @unchecked Sendable {
  private let daemon: Daemon
  private let workers: [Worker]
  private var next = 0

  init(_ daemon: Daemon, _ workers: [Worker]) {
    self.daemon = daemon
    self.workers = workers
    daemon.whenStopping { for worker in workers { worker.loop.perform { worker.finish() } } }
  }

  func open(_ listener: Socket, isOwn: Bool) {
    let source = SocketSource(listener, for: .accept) { _, event in
      switch event {
      case .accepted(let socket, from: _): self.hand(socket)
      case .failed(let error): fatalError("Nobody can connect any more: \(error)")
      default: break  // No descriptor is left: it pauses by itself.
      }
    }
    daemon.loop.add(source)
    daemon.whenStopping {
      // Who has connected already is served.
      while let (socket, _) = try? listener.accept() { self.hand(socket) }
      source.invalidate()
      // systemd keeps the files of its own sockets.
      if isOwn, case .unix(let name)? = listener.localAddress, name.place == .file {
        _ = unsafe unlink(String(decoding: name.bytes, as: UTF8.self))
      }
    }
    print("listening at \(listener.localAddress.map { "\($0)" } ?? "an address nobody knows")")
  }

  /// The next worker in turn takes the connection.
  private func hand(_ socket: Socket) {
    let work = daemon.beginWork()
    let worker = workers[next % workers.count]
    next += 1
    worker.loop.perform { worker.take(socket, work) }
  }
}

/// What the command line says.
struct Options {
  var addresses: [String] = []
  var threads = 0
  var idle = 60.0
  var drain = 20.0

  init(_ arguments: [String]) {
    var rest = arguments.dropFirst()
    while let option = rest.popFirst() {
      let value = rest.popFirst() ?? ""
      switch option {
      case "--listen": addresses.append(value)
      case "--threads" where 0...1024 ~= Int(value) ?? -1: threads = Int(value)!
      case "--idle" where Double(value) ?? 0 > 0: idle = Double(value)!
      case "--drain" where Double(value) ?? 0 > 0: drain = Double(value)!
      default:
        print("usage: rondo-echo [--listen ADDRESS]... [--threads N] [--idle SECONDS] [--drain SECONDS]")
        exit(2)
      }
    }
    if addresses.isEmpty { addresses = ["127.0.0.1:7007"] }
  }
}

/// Serves until it is told to stop; what to exit with.
func serve(_ options: Options) throws -> CInt {
  let daemon = try Daemon(drainingFor: .seconds(options.drain))
  let threads = try (0..<options.threads).map { try LoopThread(name: "echo \($0)") }
  let loops = threads.isEmpty ? [Loop.main] : threads.map(\.loop)
  let door = Door(daemon, loops.map { Worker($0, limit: .seconds(options.idle)) })
  let activated = try ActivatedDescriptor.all().map { try $0.socket() }
  for listener in activated { door.open(listener, isOwn: false) }
  if activated.isEmpty {
    for address in options.addresses { door.open(try .listening(at: SocketAddress(parsing: address)), isOwn: true) }
  }
  fflush(nil)
  let outcome = daemon.run()
  for thread in threads { thread.stop() }
  return outcome.exitCode
}

do {
  exit(try serve(Options(CommandLine.arguments)))
} catch {
  print("rondo-echo: \(error)")
  exit(1)
}
