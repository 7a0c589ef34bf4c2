// A chat server: what one says, the others read.
//
//   rondo-chat [--listen ADDRESS]... [--grace SECONDS]
//
// Try it: rondo-chat, and in two other terminals: nc 127.0.0.1 7008. SIGTERM and Ctrl-C end it when everybody has been told,
// and after the grace time without those who do not listen. SIGUSR1 has it tell how many are there.

import Glibc
import Rondo
import RondoAsync
import RondoDaemon
import RondoSockets

/// What the command line says.
struct Options {
  var addresses: [String] = []
  var grace = 1.0

  init?(_ arguments: [String]) {
    var rest = arguments.dropFirst()
    while let option = rest.popFirst() {
      guard let value = rest.popFirst() else { return nil }
      switch option {
      case "--listen": addresses.append(value)
      case "--grace" where 0...3_600 ~= Double(value) ?? -1: grace = Double(value)!
      default: return nil
      }
    }
    if addresses.isEmpty { addresses = ["127.0.0.1:7008"] }
  }
}

/// Serves until it is told to stop; what to exit with. A test has it serve on the loop of a simulated host.
func serve(_ options: Options, on loop: Loop = .main) throws -> CInt {
  let grace = Duration.seconds(options.grace)
  let daemon = try Daemon(on: loop, grace: grace + .seconds(10))
  let room = Room(on: daemon.loop)
  daemon.whenStopping(isolated(to: room) { room in room.close(within: grace) })
  // systemd keeps the files of its own sockets.
  var listeners = try ActivatedDescriptor.all().map { try Listener($0.socket()) }
  if listeners.isEmpty { listeners = try options.addresses.map { try Listener(at: SocketAddress(parsing: $0)) } }
  for listener in listeners {
    let door = SocketSource(
      listener.socket, for: .accept,
      handler: isolated(to: room) { room, _, event in
        if case .accepted(let socket, from: _) = event { room.join(socket, daemon.beginWork()) }
      })
    daemon.loop.add(door, to: .common)
    daemon.whenStopping {
      door.invalidate()
      listener.stop()
    }
    print("listening at \(listener.address)")
  }
  listeners = []
  fflush(nil)
  // An actor's functions are for tasks as well.
  let status = try SignalSource(SIGUSR1) { _, _ in
    Task {
      print("rondo-chat: \(await room.count) are here")
      fflush(nil)
    }
  }
  daemon.loop.add(status)
  return daemon.run().exitCode
}

guard let options = Options(CommandLine.arguments) else {
  print("usage: rondo-chat [--listen ADDRESS]... [--grace SECONDS]")
  exit(2)
}
do {
  exit(try serve(options))
} catch {
  print("rondo-chat: \(error)")
  exit(1)
}
