import Glibc
import Rondo
import RondoDaemon
import RondoSockets
import Testing

/// The example `rondo-echo`, as a process that is stopped while it is busy.
@Suite struct EchoTests {
  @Test(arguments: [0, 2]) func `of 100,000 requests under way at SIGTERM none is lost`(_ threads: Int) throws {
    let name = uniqueName("echo")
    try onLoopThread { stage in
      // Limits of time that no machine reaches: what is cut off when they are over is another test's.
      let limits = ["--idle", "3600", "--linger", "3600", "--drain", "3600"]
      var command = ChildSource.Command(
        try program("rondo-echo"), ["--listen", "@\(name)", "--threads", "\(threads)"] + limits)
      command.output = .null
      command.error = .null
      let echo = try ChildSource(spawning: command) { _, exit in stage.note("\(exit)") }
      stage.loop.add(echo)
      let answered = SharedNumber()
      let connected = SharedNumber()
      let halfDone = SharedNumber()
      let clients = (0..<8).map { _ in
        TestThread {
          let count = try? exchange(12_500, with: name) {
            connected.add(1)
            while connected.value < 8 { sched_yield() }
          } onHalf: {
            if halfDone.add(1) == 1 { try? echo.send(SIGTERM) }
          }
          answered.add(count ?? 0)
        }
      }
      for client in clients { client.join() }
      stage.run { !echo.isValid }
      #expect(answered.value == 100_000)
      #expect(stage.text == "exited with 0")
    }
  }
}

/// How many requests of a client have been answered rightly.
private func exchange(
  _ count: Int, with name: String, onConnection: () -> Void, onHalf: () -> Void
) throws -> Int {
  let socket = try connectOnceItListens(to: name)
  onConnection()
  var answered = 0
  for number in 0..<count {
    if number == count / 2 { onHalf() }
    let request = (0..<64).map { UInt8(truncatingIfNeeded: number + $0) }
    try socket.send(request, timeout: .seconds(120))
    var answer: [UInt8] = []
    while answer.count < request.count {
      guard try isReadable(socket), case .bytes(let bytes) = try socket.receive() else { return answered }
      answer += bytes
    }
    if answer == request { answered += 1 }
  }
  return answered
}

/// Waits until there is something to read; false if there is nothing after two minutes.
private func isReadable(_ socket: Socket) throws -> Bool {
  var query = pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)
  return unsafe poll(&query, 1, 120_000) == 1
}
