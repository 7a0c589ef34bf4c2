import Glibc
import Rondo
import RondoPorts

/// Has a server killed in the middle of a request, many times, always under the same name.
func probeKills(count: Int, directory: String) {
  var tally: [String: Int] = [:]
  // What is made once is not to be counted.
  round(.handling, directory: nil, &tally)
  tally = [:]
  let before = openDescriptors()
  for number in 0..<count {
    let way = Way.allCases[number % Way.allCases.count]
    // Both ways of taking a name are tried with every way to die.
    round(way, directory: number / Way.allCases.count % 2 == 0 ? nil : directory, &tally)
  }
  for (outcome, count) in tally.sorted(by: { $0.key < $1.key }) { print(outcome, count) }
  print("descriptors", openDescriptors() - before)
}

private func round(_ way: Way, directory: String?, _ tally: inout [String: Int]) {
  let server = Server(way, name: "probe-\(getpid())", directory: directory)
  precondition(server.line() == "ready", "The server did not start under a name its predecessor died with.")
  do {
    let place: MessagePortName.Place = directory.map { .directory($0) } ?? .abstract()
    let port = try RemoteMessagePort(MessagePortName("probe-\(getpid())", in: place))
    let killer = Thread {
      switch way {
      case .handling: break
      // Blocked in the middle of sending, or not yet: both are to end.
      case .deaf: usleep(2_000)
      case .holding, .answering: _ = server.line()
      }
      if way != .handling { server.kill() }
    }
    let bytes = [UInt8](repeating: 3, count: way == .deaf ? Way.large : 100)
    let result = Result { () throws(MessagePortError) in
      try port.request(bytes, sendTimeout: .seconds(300), replyTimeout: .seconds(300))
    }
    killer.join()
    switch result {
    case .success(let reply): tally["\(way.rawValue)-answered-\(reply?.count ?? 0)", default: 0] += 1
    case .failure(let error): tally["\(way.rawValue)-\(word(for: error))", default: 0] += 1
    }
    if port.isValid, case .failure = result { tally["still-valid", default: 0] += 1 }
  } catch {
    tally["\(way.rawValue)-no-port-\(word(for: error))", default: 0] += 1
  }
  server.reap()
}

private func word(for error: any Error) -> String {
  switch error as? MessagePortError {
  case .peerGone: "gone"
  case .malformed(.truncated): "cut"
  default: "\(error)".replacing(" ", with: "-")
  }
}
