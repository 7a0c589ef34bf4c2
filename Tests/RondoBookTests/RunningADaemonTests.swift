import Glibc
import Rondo
import RondoDaemon
import RondoInspect
import RondoSockets
import RondoTestSupport
import RondoTesting
import Testing

// The examples of RunningADaemon.md and of RondoDaemon's page, compiled and run. `ExampleTextTests` compares the texts.

/// Stands in for the library's function: a test compares what an example prints.
private func print(_ text: String) { Output.current.add(text) }

@Suite(.offThePool) struct RunningADaemonTests {
  @Test func `a daemon reloads, stops and exits with a code`() async {
    await #expect(processExitsWith: .success) {
      do { try RunningADaemonExamples.life() } catch { fatalError("\(error)") }
    }
  }

  @Test func `a daemon of an async main serves, reloads, and drains at its stop`() async {
    await #expect(processExitsWith: .success) {
      do { try await RunningADaemonExamples.tasks() } catch { fatalError("\(error)") }
    }
  }

  @Test func `a stop waits for work, and no longer than it may`() throws {
    try withVirtualLoop { virtual in
      let loop = virtual.loop
      let daemon = try Daemon(on: loop, grace: .seconds(10), claimsSignals: false, environment: [:])

      let work = daemon.beginWork()
      loop.add(Loop.Timer(after: .seconds(3)) { _ in work.end() })  // The last byte of a reply was sent.

      virtual.at(.seconds(1)) { daemon.stop() }
      #expect(daemon.run() == .drained && virtual.elapsed == .seconds(3))
    }
    try withVirtualLoop { virtual in
      let daemon = try Daemon(
        on: virtual.loop, grace: .seconds(10), claimsSignals: false, environment: [:])
      let work = daemon.beginWork()
      virtual.at(.seconds(1)) { daemon.stop() }
      #expect(daemon.run() == .timedOut(left: 1) && virtual.elapsed == .seconds(11))
      work.end()
    }
  }

  @Test func `without a socket from systemd the daemon opens its own`() throws {
    try withVirtualLoop { virtual in
      let daemon = try Daemon(on: virtual.loop, claimsSignals: false, environment: [:])

      let listener = try daemon.listener("echo", at: .loopback())

      let input = try daemon.socket("input", or: .datagram(at: .loopback()))
      #expect(input.kind == .datagram)

      // Without systemd nothing keeps it.
      try daemon.store(listener.socket.descriptor, as: "echo")

      #expect(listener.address.port != nil)
      daemon.whenStopping { listener.stop() }
      virtual.at(.seconds(1)) { daemon.stop() }
      #expect(daemon.run() == .drained && listener.isStopped)
    }
  }

  @Test func `a stuck callout is named before the watchdog ends the process`() async {
    await #expect(processExitsWith: .success) {
      do { try RunningADaemonExamples.stuck() } catch { fatalError("\(error)") }
    }
  }

  // MARK: - Children

  @Test func `what a child prints is collected`() async throws {
    let own = Output()
    func print(_ text: String) { own.add(text) }
    try await withLoopThread(name: "children") { thread in
      let loop = thread.loop

      var command = ChildSource.Command("/bin/sh", ["-c", "sort; exit 3"])
      command.input = .bytes(Array("two\none\n".utf8))
      let (exit, output) = try await command.run(collecting: 1 << 20, on: loop)
      print("\(exit): \(String(decoding: output, as: UTF8.self))")
    }
    #expect(own.text == "exited with 3: one\ntwo\n")
  }

  @Test func `the lines of a child are read while it runs`() async throws {
    let own = Output()
    func print(_ text: String) { own.add(text) }
    try await withLoopThread(name: "children") { thread in
      let loop = thread.loop
      let script = "echo one; echo two; exit 3"

      var command = ChildSource.Command("/bin/sh", ["-c", script])
      command.output = .piped
      let (exit, _) = try await command.run(on: loop) { child in
        for try await line in child.output.lines() { print(line) }
      }
      print("\(exit)")
    }
    #expect(own.lines == ["one", "two", "exited with 3"])
  }

  // MARK: - Files, names, limits, pressure, dates

  @Test func `a file that is replaced is read again`() throws {
    let path = "/tmp/rondo-book-\(getpid())"
    for name in [path, path + ".new"] { close(unsafe open(name, O_CREAT | O_WRONLY, 0o600)) }
    defer { _ = unsafe unlink(path) }
    let thread = try LoopThread(name: "files")
    defer { thread.stop() }
    let told = TestSemaphore()
    try thread.sync {
      let loop = Loop.current
      func readConfiguration() { told.signal() }

      let configuration = try PathSource(path) { _, change in
        if !change.isDisjoint(with: [.appeared, .replaced, .finished]) { readConfiguration() }
      }
      loop.add(configuration)
    }
    #expect(unsafe rename(path + ".new", path) == 0)
    told.wait()
  }

  @Test func `a rule of the calendar has its next date in the future`() throws {
    try withVirtualLoop { virtual in
      let loop = virtual.loop
      func startBackup() {}

      let rule = try CalendarRule("30 3 * * mon-fri", in: .local)
      let backup = try ClockTimer(by: rule) { _, tick in startBackup() }
      loop.add(backup)

      #expect(backup.nextDate! > ClockTimer.Clock.realTime.now)
      backup.invalidate()
    }
  }

  @Test func `a name is looked up off the loop`() async throws {
    let thread = try LoopThread(name: "names")
    let loop = thread.loop

    let addresses = try await Resolver.shared.addresses(of: "localhost", port: 80, timeout: .seconds(5), on: loop)

    #expect(!addresses.isEmpty)
    await thread.end()
  }

  @Test func `a listener that is called too often rests`() throws {
    let thread = try LoopThread(name: "limits")
    defer { thread.stop() }
    let (rests, own) = (TestSemaphore(), Output())
    let address = try thread.sync {
      let loop = Loop.current
      func accept(_ event: SocketSource.Event) {}
      @Sendable func print(_ text: String) {
        own.add(text)
        rests.signal()
      }

      let limiter = RateLimiter(.init(100, per: .seconds(1))) { _, event in print("\(event)") }
      let door = SocketSource(
        try .listening(at: .loopback()), for: .accept, handler: limiter.limiting { _, event in accept(event) })
      loop.add(door)

      return door.socket!.localAddress!
    }
    let clients = try (0..<100).map { _ in try Socket(family: address.family, .stream) }
    for client in clients { _ = try client.connect(to: address) }
    rests.wait()
    #expect(own.text.hasPrefix("rests(for:"))
  }

  @Test func `where the kernel reports no pressure the daemon goes on`() {
    let text = printed {
      withVirtualLoop { virtual in
        let loop = virtual.loop
        func dropCaches() {}

        do {
          let trigger = try PressureSource.Trigger.service() ?? .system(of: .milliseconds(150), in: .seconds(2))
          loop.add(try PressureSource(trigger) { _, event in if case .stalled = event { dropCaches() } })
        } catch {
          print("no reports of pressure: \(error)")
        }
      }
    }
    #expect(text.isEmpty || text.hasPrefix("no reports of pressure: "))
  }
}

private enum RunningADaemonExamples {
  /// In a process of its own: its signals are the process's.
  static func life() throws {
    awakenDispatch()
    let loop = Loop.current
    loop.perform { raise(SIGHUP) }
    let end = Loop.Timer(every: .milliseconds(1)) { tick in
      guard Output.current.lines == ["reload"] else { return }
      tick.timer.invalidate()
      raise(SIGTERM)
    }
    loop.add(end)

    let daemon = try Daemon(on: .current, grace: .seconds(10))
    daemon.whenReloading { print("reload") }
    daemon.whenStopping { print("stop listening") }
    let outcome = daemon.run()
    print("exit code \(outcome.exitCode)")

    precondition(
      Output.current.lines == ["reload", "stop listening", "exit code 0"], Output.current.text)
  }
}

/// How a server of the article greets.
private actor Greeting {
  private(set) var text = "Hello"

  func reload() throws { text = "Welcome" }
}

extension RunningADaemonExamples {
  /// A client that is served, has the daemon reload, and then asks for the end.
  static func tasks() async throws {
    let (thread, client) = (try LoopThread(name: "daemon"), try LoopThread(name: "client"))
    let (loop, output, greeting) = (thread.loop, Output(), Greeting())
    @Sendable func print(_ text: String) { output.add(text) }
    let asking = Task {
      while output.lines.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
      let address = try SocketAddress(parsing: String(output.lines[0].split(separator: " ").last!))
      let connection = try await Connection.connected(to: address, on: client.loop)
      func answer() async throws -> String? {
        try await connection.write("you\n")
        return try await connection.readLine()
      }
      let first = try await answer()
      precondition(first == "Hello, you!")
      kill(getpid(), SIGHUP)
      while try await answer() != "Welcome, you!" {}
      kill(getpid(), SIGTERM)
      let end = try await connection.readLine()
      precondition(end == nil)
    }

    let outcome = try await withDaemon(on: loop, grace: .seconds(10)) { daemon in
      daemon.whenReloading { try await greeting.reload() }
      let listener = try Listener(at: .loopback())
      print("listening at \(listener.address)")
      daemon.ready()
      try await daemon.serve(listener) { connection in
        while try await connection.awaitRequest(), let name = try await connection.readLine() {
          try await connection.write("\(await greeting.text), \(name)!\n")
        }
      }
    }

    try await asking.value
    precondition(outcome == .drained, "\(outcome)")
  }
}

/// A semaphore that a loop's thread signals and a test's thread waits for.
@safe private final class TestSemaphore: @unchecked Sendable {
  private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

  init() { unsafe sem_init(semaphore, 0, 0) }

  deinit {
    unsafe sem_destroy(semaphore)
    unsafe semaphore.deallocate()
  }

  func signal() { unsafe sem_post(semaphore) }

  func wait() { while unsafe sem_wait(semaphore) != 0 {} }
}

extension RunningADaemonExamples {
  /// A callout that lasts until systemd was told of it.
  static func stuck() throws {
    let name = "rondo-test-\(getpid())-\(UInt64.random(in: 0 ... .max))"
    let inbox = try Socket.datagram(at: .abstract(name))
    let daemon = try Daemon(
      on: .current, claimsSignals: false, environment: ["NOTIFY_SOCKET": "@\(name)", "WATCHDOG_USEC": "200000"])

    let monitor = try StallMonitor(limit: daemon.watchdogPeriod.map { $0 / 2 } ?? .seconds(5)) { stall in
      StallMonitor.write(stall)
      if daemon.watchdogPeriod != nil, !stall.isOver { daemon.triggerWatchdog("\(stall)") }
    }
    monitor.watch(daemon.loop)

    let seen = Trace()
    let timer = Loop.Timer(after: .milliseconds(1)) { _ in
      while seen.tokens.last != "WATCHDOG=trigger" {
        if case .datagram(let one)? = try? inbox.receive() {
          seen.note(String(decoding: one.bytes, as: UTF8.self))
        } else {
          usleep(1_000)
        }
      }
      daemon.stop()
    }
    timer.name = "the one that hangs"
    daemon.loop.add(timer)
    precondition(daemon.run() == .drained)
    precondition(
      seen.tokens.contains { $0.hasPrefix("STATUS=Stuck: ") && $0.contains("timer the one that hangs") }, seen.text)
    withExtendedLifetime(monitor) {}
  }

  /// `ServiceProgramTests` runs it in a program.
  static func service(at address: SocketAddress) async throws {
    try await withDaemon(on: .main, grace: .seconds(5)) { daemon in
      let listener = try daemon.listener("echo", at: address)
      try daemon.allowSuccessor()
      daemon.ready()
      try await daemon.serve(listener, limits: ServerLimits(idle: .seconds(30))) { connection in
        while try await connection.awaitRequest(), let bytes = try await connection.read() {
          try await connection.write(bytes)
        }
      }
    }
  }
}
