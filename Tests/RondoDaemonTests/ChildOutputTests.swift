import Glibc
import Rondo
import RondoSockets
import RondoTestSupport
import RondoTesting
import Testing

@testable import RondoDaemon

/// What a child prints and is given, by pipes in async code.
@Suite struct ChildOutputTests {
  private func shell(_ script: String) -> ChildSource.Command { .init("/bin/sh", ["-c", script]) }

  /// The text that was collected, and how the child ended.
  private func collect(
    _ script: String, limit: Int = 1 << 20, _ change: (inout ChildSource.Command) -> Void = { _ in }
  ) async throws -> String {
    var command = shell(script)
    change(&command)
    let changed = command
    let (exit, output) = try await withLoop { try await changed.run(collecting: limit, on: $0) }
    return "\(exit): \(String(decoding: output, as: UTF8.self))"
  }

  /// Runs `body` with a loop of its own. What it throws is thrown as it is.
  private func withLoop<Value>(_ body: (Loop) async throws -> Value) async throws -> Value {
    let thread = try LoopThread(name: "children")
    do {
      let value = try await body(thread.loop)
      await thread.end()
      return value
    } catch {
      await thread.end()
      throw error
    }
  }

  // MARK: - Collecting

  @Test func `the exit and the output are collected`() async throws {
    #expect(try await collect("echo one; echo two; exit 3") == "exited with 3: one\ntwo\n")
    #expect(try await collect("exit 0") == "exited with 0: ")
  }

  @Test func `more output than the pipe holds arrives whole`() async throws {
    let text = try await collect("head -c 300000 /dev/zero | tr '\\0' x")
    #expect(text == "exited with 0: " + String(repeating: "x", count: 300_000))
  }

  @Test func `as much output as the limit is not too long`() async throws {
    #expect(try await collect("printf abc", limit: 3) == "exited with 0: abc")
    #expect(try await collect("exit 1", limit: 0) == "exited with 1: ")
    await #expect(throws: ChildError.tooLong(limit: 2)) { try await collect("printf abc", limit: 2) }
  }

  @Test func `a child that prints without end is ended, and the error names the limit`() async throws {
    await #expect(throws: ChildError.tooLong(limit: 1_000)) { try await collect("exec yes", limit: 1_000) }
    #expect("\(ChildError.tooLong(limit: 1_000))" == "the child printed more than 1000 bytes")
  }

  @Test func `standard error is collected with the output, in the order of the writes`() async throws {
    let text = try await collect("echo a; echo b >&2; echo c") { $0.error = .piped }
    #expect(text == "exited with 0: a\nb\nc\n")
  }

  @Test func `a child that closes its output and lives on is waited for`() async throws {
    #expect(try await collect("echo a; exec >/dev/null; sleep 0.05; exit 4") == "exited with 4: a\n")
  }

  @Test func `bytes are a child's whole input`() async throws {
    let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 % 26 + 97) }
    let text = try await collect("cat") { $0.input = .bytes(bytes) }
    #expect(text == "exited with 0: " + String(decoding: bytes, as: UTF8.self))
    #expect(try await collect("cat") { $0.input = .bytes([]) } == "exited with 0: ")
  }

  @Test func `a process that the child leaves behind holds nothing up`() async throws {
    // It lives, and has the output's pipe, until this end of its input is closed.
    var input: [CInt] = [0, 0]
    try #require(unsafe pipe2(&input) == 0)
    let its = input[0]
    let text = try await collect("exec 3<&0; cat <&3 & echo parent") { $0.input = .descriptor(its) }
    #expect(text == "exited with 0: parent\n")
    for end in input { close(end) }
  }

  @Test func `in a simulation a child prints nothing`() throws {
    withSimulation { simulation in
      let host = simulation.host("10.0.0.1")
      let trace = Trace()
      host.onSpawn = { child in simulation.at(.seconds(5)) { child.exit(3) } }
      host.start {
        let (exit, output) = try await ChildSource.Command("worker").run(collecting: 10, on: host.loop)
        trace.note("\(simulation.elapsed.components.seconds) \(exit) \(output)")
      }
      simulation.run(for: .seconds(10))
      #expect(trace.text == "5 exited with 3 []")
    }
  }

  // MARK: - A body

  @Test func `a body talks to the child, and reads both of its streams`() async throws {
    try await withLoopThread(name: "children") { thread in
      var command = shell("while read line; do echo \"<$line>\"; echo \"$line?\" >&2; done; exit 6")
      (command.input, command.output, command.error) = (.piped, .piped, .piped)
      let (exit, errors) = try await command.run(on: thread.loop) { child in
        for word in ["one", "two"] {
          try await child.input.write("\(word)\n")
          #expect(try await child.output.readLine() == "<\(word)>")
        }
        child.input.close()
        return try await child.error.lines().reduce(into: []) { $0.append($1) }
      }
      #expect(exit.outcome == .exited(6) && errors == ["one?", "two?"])
    }
  }

  @Test func `a body stays on its actor`() async throws {
    try await withLoopThread(name: "children") { thread in
      let lines = try await Reader(on: thread.loop).read(from: shell("echo one; echo two"))
      #expect(lines == ["one", "two"])
    }
  }

  @Test func `a body that returns early closes the pipes, and the child's end is waited for`() async throws {
    try await withLoopThread(name: "children") { thread in
      var command = ChildSource.Command("yes")
      command.output = .piped
      let (exit, line) = try await command.run(on: thread.loop) { child in try await child.output.readLine() }
      #expect(exit.outcome == .killed(by: SIGPIPE, dumpedCore: false) && line == "y")
    }
  }

  @Test func `a body that throws ends the child, which is reaped`() async throws {
    struct Failure: Error {}
    try await withLoopThread(name: "children") { thread in
      let number = Later<CInt>()
      await #expect(throws: Failure.self) {
        try await shell("exec sleep 86400").run(on: thread.loop) { child in
          number.value = child.source.process
          throw Failure()
        }
      }
      expectReaped(number.value)
    }
  }

  @Test func `a request is awaited no longer than the child lives`() async throws {
    var input: [CInt] = [0, 0]
    try #require(unsafe pipe2(&input) == 0)
    try await withLoopThread(name: "children") { thread in
      var command = shell("exec 3<&0; cat <&3 & echo parent")
      (command.input, command.output) = (.descriptor(input[0]), .piped)
      let (_, lines) = try await command.run(on: thread.loop) { child in
        var lines: [String?] = []
        while try await child.output.awaitRequest() { lines.append(try await child.output.readLine()) }
        return lines
      }
      #expect(lines == ["parent"])
    }
    for end in input { close(end) }
  }

  @Test func `a child has no pipe of another one`() async throws {
    try await withLoopThread(name: "children") { thread in
      let loop = thread.loop
      var command = ChildSource.Command("cat")
      (command.input, command.output) = (.piped, .piped)
      let second = command
      _ = try await command.run(on: loop) { first in
        _ = try await second.run(on: loop) { other in
          // The second one, which lives, would keep the first one from its end.
          first.input.close()
          #expect(try await first.output.read() == nil)
          try await other.input.write("x")
          #expect(try await other.output.read() == [UInt8(ascii: "x")])
        }
      }
    }
  }

  // MARK: - Cancellation, and other ends

  /// A task that collects from a child, which says by a line on its standard error that it has begun.
  private func beginCollecting(
    _ script: String, on loop: Loop, grace: Duration = .seconds(600)
  ) async throws -> (task: Task<(exit: ChildExit, output: [UInt8]), any Error>, process: CInt, words: Connection) {
    var ends: [CInt] = [0, 0]
    try #require(unsafe pipe2(&ends) == 0)
    defer { close(ends[1]) }
    var command = shell("echo $$ >&2; " + script)
    command.error = .descriptor(ends[1])
    let words = try Connection(reading: ends[0], on: loop)
    let begun = command
    let task = Task { try await begun.run(collecting: 1_000, on: loop, grace: grace) }
    // The task gives it the descriptor, which it has by then.
    let line = try await words.readLine()
    return (task, CInt(line ?? "")!, words)
  }

  private func expectReaped(_ process: CInt) {
    var status: CInt = 0
    #expect(unsafe waitpid(process, &status, 0) == -1 && errno == ECHILD)
  }

  @Test func `cancellation ends the child, which may say its last words, and reaps it`() async throws {
    try await withLoopThread(name: "children") { thread in
      let script = "trap 'echo bye; echo clean >&2; exit 0' TERM; echo ready >&2; while :; do sleep 0.01; done"
      let (task, process, words) = try await beginCollecting(script, on: thread.loop)
      #expect(try await words.readLine() == "ready")
      task.cancel()
      await #expect(throws: ChildError.cancelled) { try await task.value }
      #expect(try await words.readLine() == "clean")
      expectReaped(process)
    }
  }

  @Test func `a cancelled child that ignores SIGTERM is killed after the grace`() async throws {
    try await withLoopThread(name: "children") { thread in
      let (task, process, words) = try await beginCollecting(
        "trap '' TERM; echo ready >&2; exec sleep 86400", on: thread.loop, grace: .milliseconds(1))
      #expect(try await words.readLine() == "ready")
      task.cancel()
      await #expect(throws: ChildError.cancelled) { try await task.value }
      expectReaped(process)
    }
  }

  @Test func `the output of a child that is watched no longer goes on while it runs`() async throws {
    try await withLoopThread(name: "children") { thread in
      var command = ChildSource.Command("sleep", ["86400"])
      command.output = .piped
      let (exit, process) = try await command.run(on: thread.loop) { child in
        child.source.invalidate()
        child.output.deadline = thread.loop.clock.now + .milliseconds(50)
        await #expect(throws: ConnectionError.wait(.timedOut)) { try await child.output.awaitRequest() }
        try child.source.send(SIGTERM)
        return child.source.process
      }
      #expect(exit.outcome == .unwatched(errno: ECANCELED) && end(of: process) == .signal(SIGTERM))
    }
  }

  @Test func `a loop that ends is told, and the child gets SIGTERM`() async throws {
    let thread = try LoopThread(name: "children")
    let (task, process, words) = try await beginCollecting("exec sleep 86400", on: thread.loop)
    await thread.end()
    await #expect(throws: ChildError.stream(.wait(.loopEnded))) { try await task.value }
    // If it has ended when the loop gives it up, it is reaped; it would have slept on without the signal.
    var status: CInt = 0
    var waited: CInt
    repeat { waited = unsafe waitpid(process, &status, 0) } while waited == -1 && errno == EINTR
    #expect(waited == process ? status == SIGTERM : errno == ECHILD)
    withExtendedLifetime(words) {}
  }

  @Test(.offThePool) func `no descriptor and no child is left on any path`() async {
    await #expect(processExitsWith: .success) {
      try await withLoopThread(name: "children") { thread in
        let loop = thread.loop
        try await loop.call {}
        let before = descriptors(of: "")
        var command = ChildSource.Command("/bin/sh", ["-c", "cat; echo; echo >&2"])
        (command.input, command.output, command.error) = (.bytes([1, 2]), .piped, .piped)
        _ = try await command.run(collecting: 100, on: loop)
        _ = try? await command.run(collecting: 1, on: loop)
        command.input = .piped
        _ = try await command.run(on: loop) { _ in }
        let (waits, missing) = (command, ChildSource.Command("/no/such/program"))
        _ = try? await waits.run(on: loop) { _ in throw CancellationError() }
        _ = try? await missing.run(collecting: 1, on: loop)
        let cancelled = Task { try await waits.run(on: loop) { try await $0.output.read() } }
        try await loop.clock.sleep(for: .milliseconds(5))
        cancelled.cancel()
        _ = await cancelled.result
        // The loop lets go in turns of its own.
        while descriptors(of: "") > before { try await loop.clock.sleep(for: .milliseconds(1)) }
        var status: CInt = 0
        precondition(unsafe waitpid(-1, &status, WNOHANG) == -1 && errno == ECHILD)
      }
    }
  }

  @Test(.offThePool) func `without a descriptor for a pipe no child is started`() async {
    await #expect(processExitsWith: .success) {
      try await withLoopThread(name: "children") { thread in
        try await thread.loop.call {}
        var limit = rlimit()
        precondition(unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        let usual = limit.rlim_cur
        limit.rlim_cur = 3
        precondition(unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        // A sanitizer opens files when the process ends.
        defer {
          limit.rlim_cur = usual
          precondition(unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        }
        do throws(ChildError) {
          _ = try await ChildSource.Command("/bin/true").run(collecting: 1, on: thread.loop)
          fatalError("A pipe was made.")
        } catch {
          precondition(error == .exhausted, "\(error)")
        }
      }
    }
  }

  @Test(.offThePool) func `a pipe that nobody could read is a mistake that is told`() async {
    await #expect(processExitsWith: .failure) {
      var command = ChildSource.Command("/bin/true")
      command.output = .piped
      _ = try ChildSource(spawning: command) { _, _ in }
    }
  }

  @Test(.offThePool) func `a pipe that the command does not have is a mistake that is told`() async {
    await #expect(processExitsWith: .failure) {
      try await withLoopThread(name: "children") { thread in
        _ = try await ChildSource.Command("/bin/true").run(on: thread.loop) { child in child.output.close() }
      }
    }
  }
}

/// An actor of a loop, whose state a body changes.
private actor Reader {
  private let loop: Loop
  private var lines: [String] = []

  init(on loop: Loop) { self.loop = loop }

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

  func read(from command: ChildSource.Command) async throws -> [String] {
    var command = command
    command.output = .piped
    _ = try await command.run(on: loop) { child in
      preconditionIsolated()
      for try await line in child.output.lines() { lines.append(line) }
      preconditionIsolated()
    }
    preconditionIsolated()
    return lines
  }
}
