import Glibc
import Rondo
import RondoDaemon
import RondoSockets
import RondoTestSupport
import RondoTesting
import Testing

/// Children as sources, and as processes that the source has started.
@Suite struct ChildTests {
  private func shell(_ script: String) -> ChildSource.Command { .init("/bin/sh", ["-c", script]) }

  /// What a child ended with; nil if it was never told.
  private func exit(of command: ChildSource.Command) throws -> ChildExit? {
    try onLoopThread { stage in
      let found = Later<ChildExit>()
      stage.loop.add(try ChildSource(spawning: command) { _, exit in found.value = exit })
      #expect(stage.loop.run() == .finished)
      return found.value
    }
  }

  @Test func `an exit code, a signal, and what it took are told`() throws {
    #expect(try exit(of: shell("exit 0"))?.isSuccess == true)
    let failed = try exit(of: shell("exit 3"))
    #expect(failed?.outcome == .exited(3) && failed?.isSuccess == false && failed?.description == "exited with 3")
    let killed = try exit(of: shell("kill -USR1 $$"))
    #expect(killed?.outcome == .killed(by: SIGUSR1, dumpedCore: false))
    let busy = try #require(try exit(of: shell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"))?.usage)
    #expect(busy.userTime + busy.systemTime > .zero && busy.peakMemory > 100_000 && busy.minorFaults > 0)
  }

  @Test func `the source is invalid in its handler, where the number is still the child's, and not after it`() throws {
    try onLoopThread { stage in
      let source = try ChildSource(spawning: shell("exit 1")) { source, _ in
        stage.note("\(source.isValid) \(kill(source.process, 0))")
      }
      stage.loop.add(source)
      stage.loop.run()
      #expect(stage.text == "false 0")
      var status: CInt = 0
      #expect(unsafe waitpid(source.process, &status, 0) == -1 && errno == ECHILD)
      #expect(throws: ChildError.gone) { try source.send(SIGTERM) }
    }
  }

  @Test func `a child that is not to be reaped is left to who waits for it`() throws {
    try onLoopThread { stage in
      let source = try ChildSource(spawning: shell("exit 7"), reaps: false) { _, exit in stage.note("\(exit)") }
      stage.loop.add(source)
      stage.loop.run()
      #expect(stage.text == "exited with 7")
      #expect(end(of: source.process) == .exit(7))
    }
  }

  @Test func `a child that has ended before it is watched is told`() throws {
    try onLoopThread { stage in
      let child = forkProcess()
      if child == 0 { _exit(5) }
      // It has ended when this returns, and is still there.
      var info = unsafe siginfo_t()
      #expect(unsafe waitid(P_PID, id_t(child), &info, WEXITED | WNOWAIT) == 0)
      stage.loop.add(try ChildSource(child) { _, exit in stage.note("\(exit)") })
      stage.loop.run()
      #expect(stage.text == "exited with 5")
    }
  }

  @Test func `a child that somebody else has reaped is told as that`() throws {
    try onLoopThread { stage in
      let child = forkProcess()
      if child == 0 { _exit(5) }
      stage.loop.add(try ChildSource(child) { _, exit in stage.note("\(exit)") })
      #expect(end(of: child) == .exit(5))
      stage.loop.run()
      #expect(stage.text == "reaped by somebody else")
    }
  }

  @Test(.offThePool) func `of 2,000 children that end at once none is lost, and nothing of them is left`() async {
    await #expect(processExitsWith: .success) { Crowd.run() }
  }

  @Test func `SIGCHLD stays everybody's`() throws {
    #expect(try exit(of: shell("exit 0"))?.isSuccess == true)
    #expect(disposition(of: SIGCHLD) == 0)
  }

  @Test func `arguments, environment, directory and streams are the child's`() throws {
    let (output, status) = try output(of: "printf '%s|' \"$@\" \"$A\" \"$B\"; pwd; cat") { command in
      command.arguments += ["sh", "a b", "", "ü"]
      command.environment = ["A": "1", "B": "x=y"]
      command.directory = "/"
      command.input = .null
    }
    #expect(output == "a b||ü|1|x=y|/\n")
    #expect(status == .exited(0))
  }

  @Test func `a stream may be what stands in another one's place`() throws {
    try onLoopThread { stage in
      var ends: [CInt] = [0, 0]
      #expect(unsafe pipe2(&ends) == 0)
      var command = shell("echo out; echo error >&2")
      command.output = .descriptor(ends[1])
      command.error = .descriptor(ends[1])
      stage.loop.add(try ChildSource(spawning: command) { _, exit in stage.note("\(exit)") })
      close(ends[1])
      #expect(readAll(ends[0]) == "out\nerror\n")
      stage.loop.run()
      #expect(stage.text == "exited with 0")
    }
  }

  @Test(.offThePool)
  func `a child has the streams that it inherits, also those that a connection of ours reads and writes`()
    async
  {
    await #expect(processExitsWith: .success) { inOwnProcess(Streams.run) }
  }

  @Test(.offThePool) func `a stream that is closed is /dev/null in a child`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(Streams.runClosed) }
  }

  @Test(.offThePool) func `a child starts with no signal blocked or ignored, and without what systemd told its parent`()
    async
  {
    await #expect(processExitsWith: .success) { Inheritance.run() }
  }

  @Test func `what cannot be started or watched says why, and leaves nothing behind`() throws {
    #expect(throws: ChildError.notFound("/does/not/exist")) {
      try ChildSource(spawning: .init("/does/not/exist")) { _, _ in }
    }
    #expect(throws: ChildError.notFound("no-such-program-here")) {
      try ChildSource(spawning: .init("no-such-program-here")) { _, _ in }
    }
    #expect(throws: ChildError.notPermitted) { try ChildSource(spawning: .init("/etc/passwd")) { _, _ in } }
    #expect(throws: ChildError.containsZero("a\0b")) {
      try ChildSource(spawning: .init("/bin/true", ["a\0b"])) { _, _ in }
    }
    #expect(throws: ChildError.notAChild(1)) { try ChildSource(1) { _, _ in } }
    #expect(throws: ChildError.notAChild(0)) { try ChildSource(0) { _, _ in } }
    #expect(throws: ChildError.notAChild(-1)) { try ChildSource(-1) { _, _ in } }
    #expect(throws: ChildError.notAChild(getpid())) { try ChildSource(getpid()) { _, _ in } }
    var command = shell("exit 0")
    command.input = .descriptor(-5)
    #expect(throws: ChildError.system(errno: EBADF)) { try ChildSource(spawning: command) { _, _ in } }
  }

  @Test(.offThePool) func `what nohup or a shell has it ignore, a child ignores too, and nothing else`() async {
    await #expect(processExitsWith: .success) { Inheritance.runIgnoring() }
  }

  @Test func `what is missing is named: the program, its directory or its interpreter`() throws {
    let root = "/tmp/\(uniqueName())"
    #expect(
      try exit(of: shell("mkdir \(root) && cd \(root) && printf '#!/no/such\\n' > tool && chmod 700 tool"))?.isSuccess
        == true)
    func failure(_ executable: String, in directory: String? = nil) -> ChildError? {
      var command = ChildSource.Command(executable)
      command.directory = directory
      do throws(ChildError) {
        _ = try ChildSource(spawning: command) { _, _ in }
        return nil
      } catch {
        return error
      }
    }
    let found = [
      failure(""), failure("/etc/passwd/tool"), failure("\(root)/tool"), failure("./tool", in: root),
      failure("./tool", in: "/"), failure("/bin/true", in: "\(root)/none"), failure("/bin/true", in: "\(root)/tool"),
      failure("true", in: "\(root)/none"),
    ]
    _ = try exit(of: shell("rm -r \(root)"))
    #expect(
      found == [
        .notFound(""), .notFound("/etc/passwd/tool"), .noInterpreter("\(root)/tool"), .noInterpreter("./tool"),
        .notFound("./tool"), .noDirectory("\(root)/none"), .noDirectory("\(root)/tool"), .noDirectory("\(root)/none"),
      ])
    #expect("\(ChildError.notFound(""))" == "there is no '' to execute")
  }

  @Test func `a signal to the child's group comes to those that it has started, also after its end`() throws {
    try onLoopThread { stage in
      var ends: [CInt] = [0, 0]
      #expect(unsafe pipe2(&ends) == 0)
      for (script, expected) in [("sleep 200 & wait", "killed by signal 9"), ("sleep 200 & exit 3", "exited with 3")] {
        var command = shell("echo; " + script)
        command.output = .descriptor(ends[1])
        command.leadsGroup = true
        let source = try ChildSource(spawning: command) { source, exit in
          do throws(ChildError) {
            // The first one's group has ended with it.
            try source.sendToGroup(SIGKILL)
            stage.note("\(exit)")
          } catch {
            stage.note("\(exit) \(error == .gone)")
          }
        }
        stage.loop.add(source)
        var byte: UInt8 = 0
        #expect(unsafe read(ends[0], &byte, 1) == 1)
        do {
          try source.sendToGroup(1_000)
          Issue.record("There is no signal 1,000.")
        } catch {
          #expect(error as? ChildError == .unknownSignal(1_000))
        }
        if expected.hasPrefix("killed") { try source.sendToGroup(SIGKILL) }
        stage.loop.run()
        #expect(stage.trace.take().hasPrefix(expected))
      }
      // A process that lives would keep the pipe open.
      close(ends[1])
      #expect(waitForOtherEnd(of: ends[0]))
      close(ends[0])
      let alone = try ChildSource(spawning: .init("sleep", ["1000"])) { _, _ in }
      #expect(throws: ChildError.gone) { try alone.sendToGroup(SIGTERM) }
      try alone.send(SIGKILL)
      stage.loop.add(alone)
      stage.loop.run()
    }
  }

  @Test(.offThePool) func `a child that cannot be watched is killed and reaped, and the loop does not wait for it`()
    async
  {
    await #expect(processExitsWith: .success) { inOwnProcess(Shortage.runUnwatched) }
  }

  @Test(.offThePool) func `without a descriptor left, no child is left either`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(Shortage.run) }
  }

  @Test func `a child that obeys SIGTERM is not killed`() throws {
    try onLoopThread { stage in
      let source = try ChildSource(spawning: .init("sleep", ["1000"])) { _, exit in stage.note("\(exit)") }
      stage.loop.add(source)
      try source.terminate(grace: .seconds(1000))
      stage.loop.run()
      #expect(stage.text == "killed by signal 15")
      try source.terminate(grace: .zero)
    }
  }

  @Test func `a child that ignores SIGTERM is killed after its grace time, and not before`() throws {
    try onLoopThread { stage in
      var ends: [CInt] = [0, 0]
      #expect(unsafe pipe2(&ends) == 0)
      var command = shell("trap '' TERM; echo; while :; do sleep 1000; done")
      command.output = .descriptor(ends[1])
      // What it started goes with it.
      command.leadsGroup = true
      let source = try ChildSource(spawning: command) { source, exit in
        try? source.sendToGroup(SIGKILL)
        stage.note("\(exit)")
      }
      stage.loop.add(source)
      close(ends[1])
      var byte: UInt8 = 0
      #expect(unsafe read(ends[0], &byte, 1) == 1)
      let begin = SuspendingClock.now
      try source.terminate(grace: .milliseconds(30))
      stage.loop.run()
      #expect(stage.text == "killed by signal 9")
      #expect(SuspendingClock.now - begin >= .milliseconds(30))
      close(ends[0])
    }
  }

  @Test func `an invalidated source tells nothing, and lets the child be`() throws {
    try onLoopThread { stage in
      let source = try ChildSource(spawning: shell("exit 4")) { _, _ in stage.note("told") }
      stage.loop.add(source)
      source.invalidate()
      #expect(stage.loop.run() == .finished)
      #expect(end(of: source.process) == .exit(4) && stage.text == "")
    }
  }

  /// What a script prints, and how it ends.
  private func output(
    of script: String, _ change: @escaping @Sendable (inout ChildSource.Command) -> Void
  ) throws -> (String, ChildExit.Outcome?) {
    try onLoopThread { stage in
      var ends: [CInt] = [0, 0]
      #expect(unsafe pipe2(&ends) == 0)
      var command = shell(script)
      change(&command)
      command.output = .descriptor(ends[1])
      let outcome = Later<ChildExit.Outcome>()
      stage.loop.add(try ChildSource(spawning: command) { _, exit in outcome.value = exit.outcome })
      close(ends[1])
      let text = readAll(ends[0])
      stage.loop.run()
      return (text, outcome.value)
    }
  }
}

/// A pipe that no child of another test inherits.
func pipe2(_ ends: UnsafeMutablePointer<CInt>) -> CInt {
  guard unsafe pipe(ends) == 0 else { return -1 }
  _ = unsafe fcntl(ends[0], F_SETFD, FD_CLOEXEC)
  return unsafe fcntl(ends[1], F_SETFD, FD_CLOEXEC)
}

/// Everything to the end, and closes it.
private func readAll(_ descriptor: CInt) -> String {
  var bytes: [UInt8] = []
  var piece = [UInt8](repeating: 0, count: 4096)
  while true {
    let count = unsafe read(descriptor, &piece, piece.count)
    if count <= 0 { break }
    bytes += piece.prefix(count)
  }
  close(descriptor)
  return String(decoding: bytes, as: UTF8.self)
}

/// Two thousand children that live at once.
private enum Crowd {
  static func run() {
    var limit = rlimit()
    precondition(unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
    limit.rlim_cur = min(limit.rlim_max, 10_000)
    precondition(unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
    let stage = Stage(.current)
    stage.loop.run(for: .zero)
    var ends: [CInt] = [0, 0]
    precondition(unsafe pipe2(&ends) == 0)
    precondition(descriptors(of: "[pidfd]") == 0)
    let codes = Later([Int](repeating: 0, count: 256))
    let told = Later(0)
    let count = 2_000
    for number in 0..<count {
      // They wait for the end of their input.
      var command = ChildSource.Command("/bin/sh", ["-c", "read line; exit \(number % 256)"])
      command.input = .descriptor(ends[0])
      let source = try! ChildSource(spawning: command) { _, exit in
        guard case .exited(let code) = exit.outcome else { fatalError("\(exit)") }
        codes.value[Int(code)] += 1
        told.value += 1
      }
      stage.loop.add(source)
    }
    precondition(descriptors(of: "[pidfd]") == count, "\(descriptors(of: "[pidfd]")) of \(count)")
    close(ends[1])
    stage.run { told.value == count }
    stage.look()
    for code in 0..<256 {
      precondition(codes.value[code] == (0..<count).count { $0 % 256 == code }, "\(code): \(codes.value[code])")
    }
    precondition(told.value == count, "\(told.value!) of \(count)")
    precondition(descriptors(of: "[pidfd]") == 0, "\(descriptors(of: "[pidfd]")) of \(count)")
    var status: CInt = 0
    precondition(unsafe waitpid(-1, &status, 0) == -1 && errno == ECHILD)
  }
}

/// The standard streams that a child inherits.
private enum Streams {
  /// How a child of its own ends.
  private static func exit(of command: ChildSource.Command) -> ChildExit? {
    let found = Later<ChildExit>()
    let loop = Loop.current
    loop.add(try! ChildSource(spawning: command) { _, exit in found.value = exit })
    loop.run(for: .seconds(120), returnAfterSourceHandled: true)
    return found.value
  }

  static func run() {
    var (input, output): ([CInt], [CInt]) = ([0, 0], [0, 0])
    precondition(unsafe pipe2(&input) == 0 && pipe2(&output) == 0)
    // Until the end the test's own output is where it should be.
    let own = fcntl(1, F_DUPFD_CLOEXEC, 3)
    precondition(dup2(input[0], 0) == 0 && dup2(output[1], 1) == 1)
    let connection = try! Connection(reading: 0, writing: 1, on: .current)
    precondition(fcntl(0, F_GETFD) == 0 && fcntl(1, F_GETFD) == 0)
    let greeting = ChildSource.Command("/bin/echo", ["hi"])
    precondition(exit(of: greeting)?.isSuccess == true)
    // Whoever set the flag.
    for stream in CInt(0)...1 { precondition(fcntl(stream, F_SETFD, FD_CLOEXEC) == 0) }
    precondition(exit(of: greeting)?.isSuccess == true)
    precondition(unsafe write(input[1], "there\n", 6) == 6)
    close(input[1])
    precondition(exit(of: .init("/bin/sh", ["-c", "read word; echo $word"]))?.isSuccess == true)
    precondition(fcntl(1, F_GETFD) == FD_CLOEXEC)
    connection.close()
    precondition(dup2(own, 1) == 1)
    close(output[1])
    let text = readAll(output[0])
    precondition(text == "hi\nhi\nthere\n", text)
  }

  static func runClosed() {
    // What the loop has open shall not take the number.
    Loop.current.run(for: .zero)
    let own = fcntl(2, F_DUPFD_CLOEXEC, 3)
    close(2)
    let ended = exit(of: .init("/bin/sh", ["-c", "[ $(readlink /proc/$$/fd/2) = /dev/null ]"]))
    precondition(dup2(own, 2) == 2)
    precondition(ended?.isSuccess == true, "\(String(describing: ended))")
  }
}

/// What a child does not get from its parent.
private enum Inheritance {
  static func runIgnoring() {
    for signal in [SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGUSR1, SIGTERM] { try! SignalSource.ignore(signal) }
    var ends: [CInt] = [0, 0]
    precondition(unsafe pipe2(&ends) == 0)
    var command = ChildSource.Command("/bin/sh", ["-c", "grep SigIgn /proc/self/status"])
    command.output = .descriptor(ends[1])
    let loop = Loop.current
    loop.add(try! ChildSource(spawning: command) { _, exit in precondition(exit.isSuccess) })
    close(ends[1])
    let text = readAll(ends[0])
    loop.run(for: .seconds(120), returnAfterSourceHandled: true)
    // Two are the C library's own.
    precondition(text == "SigIgn:\t0000000180000007\n" || text == "SigIgn:\t0000000000000007\n", text)
  }

  static func run() {
    try! SignalSource.ignore(SIGPIPE)
    var set = sigset_t()
    unsafe sigemptyset(&set)
    unsafe sigaddset(&set, SIGTERM)
    precondition(unsafe pthread_sigmask(SIG_BLOCK, &set, nil) == 0)
    unsafe setenv("NOTIFY_SOCKET", "/run/none", 1)
    unsafe setenv("LISTEN_FDS", "1", 1)
    unsafe setenv("WATCHDOG_USEC", "1", 1)
    unsafe setenv("LISTENER", "stays", 1)
    let script = "grep -E 'Sig(Blk|Ign)' /proc/self/status; echo $NOTIFY_SOCKET$LISTEN_FDS$WATCHDOG_USEC$LISTENER"
    var command = ChildSource.Command("/bin/sh", ["-c", script])
    var ends: [CInt] = [0, 0]
    precondition(unsafe pipe2(&ends) == 0)
    command.output = .descriptor(ends[1])
    let loop = Loop.current
    loop.add(try! ChildSource(spawning: command) { _, exit in precondition(exit.isSuccess) })
    close(ends[1])
    let text = readAll(ends[0])
    loop.run(for: .seconds(120), returnAfterSourceHandled: true)
    // The C library ignores two signals of its own, 32 and 33, in whatever it starts.
    let plain = text.replacing("SigIgn:\t0000000180000000", with: "SigIgn:\t0000000000000000")
    precondition(plain == "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\nstays\n", text)
  }
}

/// A child is started, but there is no descriptor to watch it with.
private enum Shortage {
  static func run() {
    var limit = rlimit()
    precondition(unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
    let soft = limit.rlim_cur
    limit.rlim_cur = 3
    precondition(unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
    var caught: ChildError?
    do throws(ChildError) {
      _ = try ChildSource(spawning: .init("/bin/sleep", ["1000"])) { _, _ in }
    } catch {
      caught = error
    }
    limit.rlim_cur = soft
    precondition(unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
    precondition(caught == .exhausted, "\(String(describing: caught))")
    var status: CInt = 0
    precondition(unsafe waitpid(-1, &status, 0) == -1 && errno == ECHILD)
    // There was none: it could have done something.
    var usage = rusage()
    precondition(unsafe getrusage(__rusage_who_t(RUSAGE_CHILDREN.rawValue), &usage) == 0 && usage.ru_minflt == 0)
  }

  /// 434 is pidfd_open(2).
  static func runUnwatched() {
    refuseSystemCall(434, with: EMFILE)
    var caught: ChildError?
    do throws(ChildError) {
      _ = try ChildSource(spawning: .init("/bin/sleep", ["1000"])) { _, _ in }
    } catch {
      caught = error
    }
    precondition(caught == .exhausted, "\(String(describing: caught))")
    var status: CInt = 0
    while unsafe waitpid(-1, &status, WNOHANG) == 0 { usleep(1_000) }
    precondition(errno == ECHILD || status == SIGKILL)
  }
}
