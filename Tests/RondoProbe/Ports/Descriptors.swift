import CLinux
import Glibc
import Rondo
import RondoPorts
import RondoSockets

/// Makes everything that needs descriptors with 0 to 3 left, and says what came of it and what leaked.
func probePortDescriptors(directory: String) {
  do {
    let loop = Loop.current
    for mode in [Loop.Mode.default, "asking"] { loop.add(Loop.Source {}, to: mode) }
    // What the loop needs, it has.
    loop.run(for: .zero)
    loop.run(in: "asking", for: .zero)
    let name = try MessagePortName("descriptors-\(getpid())")
    let listener = try Socket.listening(at: name.address)
    let remote = try RemoteMessagePort(name)
    for left in 0...3 {
      try trial("local", left) { _ = try LocalMessagePort(MessagePortName("one-\(getpid())")) { _ in } }
      try trial("file", left) {
        _ = try LocalMessagePort(MessagePortName("one", in: .directory(directory))) { _ in }
      }
      try trial("remote", left) { _ = try RemoteMessagePort(name) }
      try trial("request", left) { try ask(remote, nil) }
      try trial("running", left) { try ask(remote, "asking") }
      try trial("notice", left) { try remote.send([1], timeout: .seconds(60)) }
      try trial("socket", left) { _ = try Socket(family: AF_INET, .stream) }
      try trial("listening", left) { _ = try Socket.listening(at: .loopback()) }
      try trial("datagram", left) { _ = try Socket.datagram(at: .loopback()) }
      try trial("pair", left) { _ = try Socket.pair() }
      try trial("connecting", left) {
        let source = try SocketSource(connectingTo: name.address, for: .data) { _, _ in }
        loop.add(source)
        source.invalidate()
        loop.run(for: .zero)
      }
    }
    _ = listener
    try acceptWithout()
  } catch {
    print("\(error)")
    exit(1)
  }
}

private func ask(_ remote: RemoteMessagePort, _ mode: Loop.Mode?) throws(MessagePortError) {
  do throws(MessagePortError) {
    _ = try remote.request([1], sendTimeout: .seconds(60), replyTimeout: .zero, running: mode)
  } catch .replyTimedOut {
    // Nobody answers: it was sent.
  } catch {
    throw error
  }
}

private func trial(_ what: String, _ left: Int, _ body: () throws -> Void) throws {
  var outcome = "ok"
  let before = openDescriptors()
  let filling = Filling(leaving: left)
  do {
    try body()
  } catch MessagePortError.socket(.exhausted), SocketError.exhausted {
    outcome = "exhausted"
  } catch {
    outcome = "\(error)".replacing(" ", with: "-")
  }
  filling.end()
  let leaked = openDescriptors() - before
  print("\(what)-\(left)-\(outcome)", leaked)
}

/// A port and a listener that cannot let anybody in, and then can.
private func acceptWithout() throws {
  let loop = Loop.current
  let name = try MessagePortName("accept-\(getpid())")
  var messages = 0
  let port = try LocalMessagePort(name) { _ in messages += 1 }
  loop.add(port)
  loop.run(for: .zero)
  let client = try Socket(family: AF_UNIX, .stream)
  _ = try client.connect(to: name.address)
  _ = try client.send(Frame(.notice, identifier: 1, []).encoded[...])
  let filling = Filling(leaving: 0)
  let turns = Guarded(0)
  let counter = Loop.Observer(.beforeTimers) { _ in turns.withLock { $0 += 1 } }
  loop.add(counter)
  loop.run(for: .milliseconds(300))
  // 10, 20, 40, 80 and 160 ms of rest: a few turns, where a loop that asks on takes thousands.
  print("turns-without", turns.withLock { $0 })
  print("is-told", port.acceptError == .exhausted ? 1 : 0)
  filling.end()
  while messages == 0 { loop.run(for: .seconds(10), returnAfterSourceHandled: true) }
  print("is-over", port.acceptError == nil ? 1 : 0)
  print("messages", messages)
}

/// Takes all descriptors but some.
private final class Filling {
  private var taken: [CInt] = []
  private var old = rlimit()

  init(leaving count: Int) {
    _ = unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &old)
    var low = rlimit(rlim_cur: 256, rlim_max: old.rlim_max)
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &low)
    while true {
      let copy = dup(0)
      if copy < 0 { break }
      taken.append(copy)
    }
    for _ in 0..<count { close(taken.removeLast()) }
  }

  func end() {
    for copy in taken { close(copy) }
    taken = []
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &old)
  }
}
