import Glibc
import Rondo
import RondoAsync
import RondoDaemon
import RondoSockets
import RondoTestSupport
import RondoTesting
import Synchronization
import Testing

// The examples of RondoDaemon's doc comments and articles, compiled and run. `ExampleTextTests` sees to it that they stand in the
// documentation as they stand here.

/// What the examples have done.
private final class Log: Sendable {
  private let notes = Mutex<[String]>([])

  func note(_ text: String) { notes.withLock { $0.append(text) } }

  var text: String { notes.withLock { $0.joined(separator: ", ") } }
}

@Suite struct DocumentationExamplesTests {
  @Test func `RondoDaemon: signals, children and handlers of actors in async code`() async {
    await #expect(processExitsWith: .success) {
      try await withLoopThread { thread in
        let server = Server(on: thread.loop)
        try await server.start()
        try await runCommand(on: thread.loop)
        let task = Task { try await printSignals(of: thread.loop) }
        kill(getpid(), SIGHUP)
        task.cancel()
        try await task.value
      }
    }
  }

  @Test(.offThePool) func `RondoDaemon: signals, children and a daemon's life`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(Examples.run) }
  }

  @Test func `RondoDaemon: a daemon of an async main`() async {
    await #expect(processExitsWith: .success) { try await Examples.awaited() }
  }
}

/// An actor of a loop.
private actor Server {
  private let loop: Loop

  init(on loop: Loop) { self.loop = loop }

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

  private func reload() { loop.stop() }

  func start() throws {
    loop.add(try SignalSource(SIGHUP, handler: isolated(to: self) { server, _, _ in server.reload() }))
  }
}

/// In async code.
private func printSignals(of loop: Loop) async throws {
  for try await delivery in try loop.signals([SIGHUP, SIGUSR1]) { print("signal \(delivery.signal)") }
}

private func runCommand(on loop: Loop) async throws {
  let exit = try await ChildSource.Command("/bin/sh", ["-c", "exit 3"]).run(on: loop)
  precondition(exit.outcome == .exited(3))
  try await collectLines(of: ChildSource.Command("/bin/sh", ["-c", "echo one; echo two"]), on: loop)
  try await countLines(of: ChildSource.Command("/bin/sh", ["-c", "echo one; echo two"]), on: loop)
}

private func collectLines(of command: ChildSource.Command, on loop: Loop) async throws {
  let (exit, output) = try await command.run(collecting: 1 << 20, on: loop)
  precondition(exit.isSuccess && output == Array("one\ntwo\n".utf8))
}

private func countLines(of command: ChildSource.Command, on loop: Loop) async throws {
  var command = command
  command.output = .piped
  let (exit, count) = try await command.run(on: loop) { child in
    try await child.output.lines().reduce(0) { count, _ in count + 1 }
  }
  precondition(exit.isSuccess && count == 2)
}

private enum Examples {
  static func run() {
    do {
      try signals(Loop.current)
      try children(Loop.current)
      try life(Loop.current)
      try files(Loop.current)
      try clocks(Loop.current)
      pressure(Loop.current)
      names(Loop.current)
      try rate(Loop.current)
      try idle(Loop.current)
      try severalLoops()
      try activation()
    } catch {
      fatalError("\(error)")
    }
  }

  static func signals(_ loop: Loop) throws {
    let termination = try SignalSource(SIGTERM) { _, _ in loop.stop() }
    loop.add(termination, to: .common)

    loop.perform { raise(SIGTERM) }
    precondition(loop.run() == .stopped)
    termination.invalidate()
  }

  static func children(_ loop: Loop) throws {
    let log = Log()
    var command = ChildSource.Command("/bin/sh", ["-c", "exit 3"])
    command.input = .null
    let child = try ChildSource(spawning: command) { _, exit in log.note("\(exit)") }
    loop.add(child)

    while child.isValid { loop.run(for: .seconds(60), returnAfterSourceHandled: true) }
    precondition(log.text == "exited with 3")
  }

  static func files(_ loop: Loop) throws {
    let log = Log()
    let path = "/tmp/\(uniqueName())"
    for name in [path, path + ".new"] { close(unsafe open(name, O_CREAT | O_WRONLY, 0o600)) }
    let configuration = try PathSource(path) { _, change in
      if change.contains(.replaced) { log.note("read it again") }
    }
    loop.add(configuration)

    precondition(unsafe rename(path + ".new", path) == 0)
    while log.text.isEmpty { loop.run(for: .seconds(60), returnAfterSourceHandled: true) }
    precondition(log.text == "read it again")
    configuration.invalidate()
    _ = unsafe unlink(path)
  }

  static func clocks(_ loop: Loop) throws {
    let log = Log()
    let rule = try CalendarRule("30 3 * * mon-fri", in: .local)
    let backup = try ClockTimer(by: rule) { _, tick in log.note("\(tick.missed) missed") }
    loop.add(backup)
    precondition(backup.nextDate! > ClockTimer.Clock.realTime.now && log.text.isEmpty)
    backup.invalidate()
  }

  static func pressure(_ loop: Loop) {
    let log = Log()
    do {
      let trigger = try PressureSource.Trigger.service() ?? .system(of: .milliseconds(150), in: .seconds(2))
      let pressure = try PressureSource(trigger) { _, event in
        if case .stalled = event { log.note("let go of caches") }
      }
      loop.add(pressure)
    } catch {
      log.note("not told of pressure: \(error)")
    }
  }

  static func names(_ loop: Loop) {
    let log = Log()
    let resolver = Resolver(threads: 2)
    Task(executorPreference: loop) {
      let addresses = try await resolver.addresses(of: "localhost", port: 80, timeout: .seconds(5), on: loop)
      log.note("\(addresses.count) to try, in this order")
    }

    while log.text.isEmpty { loop.run(for: .milliseconds(5)) }
  }

  static func rate(_ loop: Loop) throws {
    let log = Log()
    let limiter = RateLimiter(.init(100, per: .seconds(1))) { _, event in log.note("\(event)") }
    let listener = SocketSource(
      try .listening(at: .loopback()), for: .accept, handler: limiter.limiting { _, event in log.note("\(event)") })
    loop.add(listener)
    precondition(!limiter.isResting && log.text.isEmpty)
    listener.invalidate()
  }

  static func idle(_ loop: Loop) throws {
    let log = Log()
    let (near, far) = try Socket.pair()
    let source = SocketSource(near, for: .data) { _, _ in }
    loop.add(source)
    let idle = loop.makeIdleTimeout(of: source, after: .seconds(30)) { log.note("nothing for 30 s") }
    precondition(loop.fireDate(of: idle) != nil && log.text.isEmpty)
    loop.discard(idle)
    source.invalidate()
    withExtendedLifetime(far) {}
  }

  static func severalLoops() throws {
    let log = Log()
    let group = try LoopGroup(threads: 2, name: "worker")
    let place = group.place(by: .leastLoaded)
    place.loop.perform { log.note("on a loop of \(group.loops.count)") }
    group.stop()
    precondition(log.text == "on a loop of 2" && group.loads == [1, 0])
    withExtendedLifetime(place) {}
  }

  static func life(_ loop: Loop) throws {
    let log = Log()
    loop.perform { raise(SIGHUP) }
    let end = Loop.Timer(every: .milliseconds(1)) { tick in
      guard log.text == "reload" else { return }
      tick.timer.invalidate()
      raise(SIGTERM)
    }
    loop.add(end)

    let daemon = try Daemon(on: loop, grace: .seconds(10))
    daemon.whenReloading { log.note("reload") }
    daemon.whenStopping { log.note("stop listening") }
    let outcome = daemon.run()
    log.note("exit code \(outcome.exitCode)")

    precondition(log.text == "reload, stop listening, exit code 0", log.text)
  }

  static func awaited() async throws {
    let thread = try LoopThread(name: "example")
    let loop = thread.loop
    let usual = disposition(of: SIGTERM)
    loop.perform {
      let end = Loop.Timer(every: .milliseconds(1)) { tick in
        if disposition(of: SIGTERM) == usual { return }
        tick.timer.invalidate()
        kill(getpid(), SIGTERM)
      }
      loop.add(end)
    }

    let outcome = try await withDaemon(on: loop, grace: .seconds(10)) { daemon in
      let listener = try Listener(at: .loopback())
      daemon.ready()
      try await daemon.serve(listener) { connection in
        while try await connection.awaitRequest(), let line = try await connection.readLine() {
          try await connection.write("\(line)\n")
        }
      }
    }

    precondition(outcome == .drained, "\(outcome)")
    await thread.end()
  }

  static func activation() throws {
    let log = Log()
    let activated = try ActivatedDescriptor.all()
    let door = SocketSource(
      try activated.first { $0.name == "echo" }?.socket() ?? .listening(at: .loopback()), for: .accept
    ) { _, event in log.note("\(event)") }
    precondition(door.socket?.localAddress != nil)
  }
}
