import Glibc
import Rondo
import RondoAsync
import RondoTestSupport
import Testing

@testable import RondoDaemon

/// Signals, changes and children in async code.
@Suite struct EventsTests {
  // MARK: - Signals

  @Test(.offThePool) func `signals are told in order, and those of one number that wait are counted together`() async {
    await #expect(processExitsWith: .success) {
      try await withLoopThread(name: "signals") { thread in
        // A handler tells who came last first: what the witness hears of is counted for the other.
        var witness = try thread.loop.signals([SIGUSR1, SIGUSR2]).makeAsyncIterator()
        let signals = try thread.loop.signals([SIGUSR1, SIGUSR2, SIGUSR1])
        for signal in [SIGUSR1, SIGUSR1, SIGUSR2, SIGUSR1] {
          kill(getpid(), signal)
          // The kernel would merge it with the next one.
          _ = try await witness.next()
        }
        // The loop may have called the witness first, and a turn beside Foundation's loop may serve one source.
        for _ in 0..<10 { try await thread.loop.call {} }
        var iterator = signals.makeAsyncIterator()
        let first = try await iterator.next()!
        let second = try await iterator.next()!
        precondition(first.signal == SIGUSR1 && first.count == 3 && first.sender?.process == getpid())
        precondition(second.signal == SIGUSR2 && second.count == 1)
      }
    }
  }

  @Test(.offThePool) func `the end of the sequence gives the signals back`() async {
    await #expect(processExitsWith: .signal(SIGUSR2)) {
      try await withLoopThread(name: "signals") { thread in
        let signals = try thread.loop.signals([SIGUSR2])
        kill(getpid(), SIGUSR2)
        for try await _ in signals { break }
      }
      kill(getpid(), SIGUSR2)
      try await Task.sleep(for: .seconds(600))
    }
  }

  @Test(.offThePool) func `a signal that cannot be watched claims none of the others`() async {
    await #expect(processExitsWith: .signal(SIGUSR1)) {
      let thread = try LoopThread(name: "signals")
      let sequence = try? thread.loop.signals([SIGUSR1, SIGKILL])
      precondition(sequence == nil)
      kill(getpid(), SIGUSR1)
      try await Task.sleep(for: .seconds(600))
      await thread.end()
    }
  }

  @Test(.offThePool) func `a sequence of no signal is a mistake that is told`() async {
    await #expect(processExitsWith: .failure) {
      let thread = try LoopThread(name: "signals")
      _ = try thread.loop.signals([])
    }
  }

  @Test func `a cancelled task's sequence of signals ends`() async throws {
    try await withLoopThread(name: "signals") { thread in
      let signals = try thread.loop.signals([SIGWINCH])
      let task = Task { for try await _ in signals {} }
      task.cancel()
      try await task.value
      #expect(!signals.origin[0].isValid)
    }
  }

  // MARK: - Paths

  @Test func `changes of a path are told, and merged while the task is busy`() async throws {
    let root = "/tmp/\(uniqueName())"
    unsafe mkdir(root, 0o700)
    defer { unsafe rmdir(root) }
    let path = root + "/file"
    try await withLoopThread(name: "paths") { thread in
      let changes = try thread.loop.changes(of: path)
      var iterator = changes.makeAsyncIterator()
      let file = unsafe open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
      var seen = try await iterator.next()!
      #expect(seen.contains(.appeared))
      unsafe write(file, "x", 1)
      close(file)
      while !seen.isSuperset(of: [.written, .finished]) { seen.formUnion(try await iterator.next()!) }
      unsafe unlink(path)
      while !seen.contains(.vanished) { seen.formUnion(try await iterator.next()!) }
      changes.origin.invalidate()
      while try await iterator.next() != nil {}
    }
  }

  @Test func `a path that cannot be watched has no sequence`() throws {
    let thread = try LoopThread(name: "paths")
    #expect(throws: FileError.self) { try thread.loop.changes(of: "a\0b") }
  }

  // MARK: - Children

  private func shell(_ script: String) -> ChildSource.Command { .init("/bin/sh", ["-c", script]) }

  @Test func `a command that runs returns how it ended, and is reaped`() async throws {
    try await withLoopThread(name: "children") { thread in
      let exit = try await shell("exit 3").run(on: thread.loop)
      #expect(exit.outcome == .exited(3))
      #expect(exit.usage != nil)
    }
  }

  @Test func `many commands at a time end each with its own code`() async throws {
    try await withLoopThread(name: "children") { thread in
      let loop = thread.loop
      try await withThrowingTaskGroup(of: Bool.self) { group in
        for code in 0..<50 {
          group.addTask { try await self.shell("exit \(code)").run(on: loop).outcome == .exited(CInt(code)) }
        }
        for try await isRight in group { #expect(isRight) }
      }
    }
  }

  @Test func `a cancelled run ends its child, and says how`() async throws {
    try await withLoopThread(name: "children") { thread in
      let loop = thread.loop
      let task = Task { try await self.shell("exec sleep 86400").run(on: loop) }
      try await loop.clock.sleep(for: .milliseconds(20))
      task.cancel()
      do throws(ChildError) {
        let exit = try await ended(task)
        #expect(exit.outcome == .killed(by: SIGTERM, dumpedCore: false))
      } catch {
        // The cancellation came first.
        #expect(error == .cancelled)
      }
    }
  }

  private func ended(_ task: Task<ChildExit, any Error>) async throws(ChildError) -> ChildExit {
    switch await task.result {
    case .success(let exit): return exit
    case .failure(let error): throw error as! ChildError
    }
  }

  @Test func `a cancelled run whose child ignores SIGTERM kills it after the grace`() async throws {
    try await withLoopThread(name: "children") { thread in
      let loop = thread.loop
      var ends: [CInt] = [0, 0]
      try #require(unsafe pipe2(&ends) == 0)
      var command = shell("trap '' TERM; echo; exec sleep 86400")
      command.output = .descriptor(ends[1])
      let (ready, output, stubborn) = (ends[0], ends[1], command)
      let task = Task { try await stubborn.run(on: loop, grace: .milliseconds(1)) }
      try await loop.readable(ready)
      task.cancel()
      let exit = try await task.value
      #expect(exit.outcome == .killed(by: SIGKILL, dumpedCore: false))
      close(ready)
      close(output)
    }
  }

  @Test func `a task that is cancelled before starts no child`() async throws {
    try await withLoopThread(name: "children") { thread in
      let loop = thread.loop
      let task = Task {
        while !Task.isCancelled { await Task.yield() }
        return try await self.shell("exit 0").run(on: loop)
      }
      task.cancel()
      await #expect(throws: ChildError.cancelled) { try await task.value }
    }
  }

  @Test func `a loop that ends leaves the child alone, and says so`() async throws {
    let thread = try LoopThread(name: "children")
    let loop = thread.loop
    let process = try shell("exec sleep 86400").spawn()
    let task = Task { try await ChildSource.exit(of: process, on: loop) }
    await thread.end()
    #expect(try await task.value.outcome == .unwatched(errno: ECANCELED))
    #expect(kill(process, SIGKILL) == 0)
    var status: CInt = 0
    #expect(unsafe waitpid(process, &status, 0) == process)
  }

  @Test func `the exit of a child that runs already is waited for, and a cancelled wait leaves it alone`() async throws
  {
    try await withLoopThread(name: "children") { thread in
      let loop = thread.loop
      var input: [CInt] = [0, 0]
      try #require(unsafe pipe2(&input) == 0)
      var command = shell("read line; exit 5")
      command.input = .descriptor(input[0])
      let process = try command.spawn()
      let task = Task { try await ChildSource.exit(of: process, on: loop) }
      task.cancel()
      await #expect(throws: ChildError.cancelled) { try await task.value }
      unsafe write(input[1], "\n", 1)
      #expect(try await ChildSource.exit(of: process, on: loop).outcome == .exited(5))
      await #expect(throws: ChildError.notAChild(process)) { try await ChildSource.exit(of: process, on: loop) }
      for end in input { close(end) }
    }
  }
}
