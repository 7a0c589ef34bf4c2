import Glibc
import Rondo
import RondoPorts

/// What the server is doing when it dies.
enum Way: String, CaseIterable {
  /// It has the request, and dies by its own hand before it answers.
  case handling
  /// It has the request, and answers some time, unless it is killed.
  case holding
  /// It does not read: the sender is in the middle of sending.
  case deaf
  /// It has begun to answer, and the asker does not read yet.
  case answering

  /// More than any socket's buffer.
  static let large = 4 << 20
}

/// The server's process. A line on standard output says how far it is: `ready`, then `taken` with the request.
func serve(_ way: Way, name: String, directory: String?) -> Never {
  do {
    var held: [MessagePortRequest] = []
    let place: MessagePortName.Place = directory.map { .directory($0) } ?? .abstract()
    let port = try LocalMessagePort(MessagePortName(name, in: place)) { request in
      switch way {
      case .handling: kill(getpid(), SIGKILL)
      case .holding: held.append(request)
      case .deaf: break
      case .answering: try? request.reply([UInt8](repeating: 7, count: Way.large))
      }
      say("taken")
    }
    if way != .deaf { Loop.current.add(port) }
    say("ready")
    if way == .deaf { while true { pause() } }
    Loop.current.run()
    _ = port
  } catch {
    say("\(error)")
  }
  exit(1)
}

private func say(_ word: String) {
  let line = Array((word + "\n").utf8)
  _ = unsafe write(1, line, line.count)
}
