import Glibc
import Rondo
import RondoSockets
import RondoTestSupport
import RondoTesting
import Synchronization
import Testing

@testable import RondoDaemon

/// Processes that take a daemon's place. Each test is a process of its own, and a shell its successor.
@Suite struct SuccessorTests {
  @Test(.offThePool) func `a successor gets the sockets by their names, and systemd knows it before the daemon stops`()
    async
  {
    await #expect(processExitsWith: .success) { inOwnProcess(Succeeded.whole) }
  }

  @Test(.offThePool) func `what a daemon has let go of is not passed, and a name may be there twice`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(Succeeded.present) }
  }

  @Test(.offThePool) func `a successor has no other descriptor, also of those that do not close on exec`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(Succeeded.descriptors) }
  }

  @Test(.offThePool) func `attempts leave no descriptor behind, and one that has none to be made with says so`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(Succeeded.shortage) }
  }

  @Test(.offThePool) func `a successor that ends before it is ready changes nothing`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(Succeeded.endsEarly) }
  }

  @Test(.offThePool) func `the successor of systemd's child is systemd's child`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(Succeeded.sibling) }
  }

  @Test(.offThePool) func `a successor that cannot be started changes nothing`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(Succeeded.notFound) }
  }

  @Test(.offThePool) func `a successor that is not ready in time is ended, never before`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(Succeeded.tooSlow) }
  }

  @Test(.offThePool) func `a successor that ends while systemd is told gives the place back`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(Succeeded.endsLate) }
  }

  @Test(.offThePool) func `a successor that cannot be told to take over is ended`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(Succeeded.deaf) }
  }

  @Test(.offThePool) func `a daemon that is stopped ends the successor that is not ready`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(Succeeded.stopped) }
  }

  @Test(.offThePool) func `a daemon that is not ready has no successor`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(Succeeded.notReady) }
  }

  @Test(.offThePool) func `a second signal starts no second successor`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(Succeeded.twice) }
  }

  @Test(.offThePool) func `a successor ignores and blocks no signal but what a shell has it ignore`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(Succeeded.signals) }
  }

  @Test(.offThePool) func `a manager that never reads is waited for for five seconds`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(Succeeded.deafManager) }
  }
}

/// A daemon with a listener named web, whose successor is a script.
private final class Succeeded: Sendable {
  let inbox = try! Inbox()
  let daemon: Daemon
  let messages = Guarded<[String]>([])
  /// Where the script writes.
  let file = "/tmp/\(uniqueName())"

  init(_ script: String, within limit: Duration = .seconds(600), program: String = "/bin/sh", isRead: Bool = true) {
    daemon = try! Daemon(on: .current, environment: ["NOTIFY_SOCKET": inbox.name])
    try! daemon.allowSuccessor(program: program, arguments: ["-c", "exec 9>\(file);" + script], timeout: limit)
    if isRead { read() }
  }

  deinit { _ = unsafe unlink(file) }

  /// What the script has written.
  var written: String { Self.text(file) }

  /// Reads what systemd is told, from now on.
  func read() {
    let (messages, inbox) = (messages, inbox)
    daemon.loop.add(
      Loop.Timer(every: .milliseconds(1)) { _ in messages.withLock { $0 += inbox.messages() } }, to: .common)
  }

  /// What systemd was told, from when the daemon was ready.
  var told: [String] { Array((messages.withLock { $0 } + inbox.messages()).dropFirst()) }

  /// Has the daemon stop when the script has written something, or systemd was told something.
  func stop(when isSo: @escaping @Sendable (_ written: String, _ told: [String]) -> Bool) {
    let (daemon, file, messages) = (daemon, file, messages)
    daemon.loop.add(
      Loop.Timer(every: .milliseconds(1)) { _ in
        if isSo(Self.text(file), messages.withLock { $0 }) { daemon.stop() }
      }, to: .common)
  }

  /// Sends SIGUSR2 in the run, which is over when the daemon is.
  func run(_ signals: Int = 1) -> Daemon.Outcome {
    daemon.loop.perform { for _ in 0..<signals { raise(SIGUSR2) } }
    return daemon.run()
  }

  static func text(_ file: String) -> String {
    let descriptor = unsafe open(file, O_RDONLY | O_CLOEXEC)
    if descriptor < 0 { return "" }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 4_096)
    let count = unsafe Glibc.read(descriptor, &bytes, bytes.count)
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  }

  /// A zombie has.
  static func hasEnded(_ process: CInt) -> Bool {
    let words = text("/proc/\(process)/stat").split(separator: " ")
    return words.isEmpty || words[2] == "Z"
  }

  static func link(_ name: String) -> String {
    var room = [UInt8](repeating: 0, count: 256)
    let count = unsafe room.withUnsafeMutableBytes { unsafe readlink(name, $0.baseAddress!, $0.count) }
    return String(decoding: room.prefix(max(0, count)), as: UTF8.self)
  }

  /// The line to the predecessor is the descriptor after those of the sockets.
  private static let ready = "eval \"printf 1 >&$RONDO_PREDECESSOR\";"
  /// Until the predecessor has made way. A read from the line does not wait.
  private static let wait = """
    for i in $(seq 12000); do
      [ $(eval "head -c 1 <&$RONDO_PREDECESSOR" 2>/dev/null | wc -c) = 1 ] && break; sleep 0.01
    done;
    """

  static func whole() {
    let succeeded = Succeeded(
      """
      echo $LISTEN_FDS $LISTEN_FDNAMES $((LISTEN_PID - $$)) ${WATCHDOG_PID-none} >&9
      readlink /proc/$$/fd/3 >&9; readlink /proc/$$/fd/4 >&9
      \(ready) \(wait)
      echo $$ over >&9
      """)
    let listener = try! succeeded.daemon.listener("web", at: .loopback())
    let input = try! succeeded.daemon.socket("input", or: .datagram(at: .loopback()))
    unsafe setenv("WATCHDOG_PID", "\(getpid())", 1)
    precondition(succeeded.run() == .drained)
    precondition(listener.isHandedOver)
    while !succeeded.written.hasSuffix("over\n") { usleep(1_000) }
    let lines = succeeded.written.split(separator: "\n").map(String.init)
    precondition(lines[0] == "2 web:input 0 none", lines[0])
    precondition(lines[1] == link("/proc/self/fd/\(listener.socket.descriptor)"), lines[1])
    precondition(lines[2] == link("/proc/self/fd/\(input.descriptor)"), lines[2])
    let number = lines[3].split(separator: " ")[0]
    precondition(succeeded.told == ["MAINPID=\(number)", "BARRIER=1"], "\(succeeded.told)")
  }

  static func present() {
    let succeeded = Succeeded("echo $LISTEN_FDS $LISTEN_FDNAMES >&9; \(ready) \(wait)")
    let first = try! succeeded.daemon.listener("web", at: .loopback())
    _ = try! succeeded.daemon.listener("gone", at: .loopback())
    let second = try! succeeded.daemon.listener("web", at: .loopback())
    precondition(succeeded.run() == .drained)
    precondition(succeeded.written == "2 web:web\n", succeeded.written)
    withExtendedLifetime((first, second)) {}
  }

  static func descriptors() {
    let succeeded = Succeeded("ls /proc/$$/fd >&9; \(ready) \(wait)")
    // As a library in C makes it.
    let other = fcntl(STDERR_FILENO, F_DUPFD, 40)
    precondition(other >= 40)
    let listener = try! succeeded.daemon.listener("web", at: .loopback())
    precondition(succeeded.run() == .drained)
    // A shell has a descriptor of its own, from 10 on.
    let numbers = succeeded.written.split(separator: "\n").compactMap { CInt($0) }.filter { $0 < 9 || $0 > 10 }
    precondition(numbers == [0, 1, 2, 3, 4], "\(numbers)")
    withExtendedLifetime(listener) {}
  }

  /// RLIMIT_NOFILE, which Swift does not import.
  private static let numberLimit = __rlimit_resource_t(7)

  static func shortage() {
    let succeeded = Succeeded("exit 3")
    let listener = try! succeeded.daemon.listener("web", at: .loopback())
    let (daemon, messages) = (succeeded.daemon, succeeded.messages)
    func openDescriptors() -> Int { (0..<1_024).count { fcntl(CInt($0), F_GETFD) >= 0 } }
    let counts = Guarded<[Int]>([])
    daemon.loop.add(
      Loop.Timer(every: .milliseconds(1)) { _ in
        let told = messages.withLock { $0.count { $0.hasPrefix("STATUS=") } }
        guard told > counts.withLock(\.count) else { return }
        counts.withLock { $0.append(openDescriptors()) }
        if told == 12 { return daemon.stop() }
        if told == 11 {
          var limit = rlimit()
          precondition(unsafe getrlimit(Self.numberLimit, &limit) == 0)
          limit.rlim_cur = 20
          while dup(STDIN_FILENO) < 19 {}
          precondition(unsafe setrlimit(Self.numberLimit, &limit) == 0)
        }
        raise(SIGUSR2)
      }, to: .common)
    precondition(succeeded.run() == .drained)
    // What ends the process, such as a search for leaks, opens files.
    var limit = rlimit()
    precondition(unsafe getrlimit(Self.numberLimit, &limit) == 0)
    limit.rlim_cur = limit.rlim_max
    precondition(unsafe setrlimit(Self.numberLimit, &limit) == 0)
    let found = counts.withLock { $0 }
    precondition(Set(found[0..<11]).count == 1, "\(found)")
    let status = "STATUS=No successor takes over: there is no socket to it: no descriptor is left"
    precondition(succeeded.told.dropLast().last == status, "\(succeeded.told)")
    withExtendedLifetime(listener) {}
  }

  private static let isTold: @Sendable (String, [String]) -> Bool = { _, told in
    told.last?.hasPrefix("STATUS=") == true
  }

  static func endsEarly() {
    let succeeded = Succeeded("exit 3")
    let listener = try! succeeded.daemon.listener("web", at: .loopback())
    succeeded.stop(when: isTold)
    precondition(succeeded.run() == .drained && !listener.isHandedOver)
    let status = "STATUS=No successor takes over: it ended before it took over: exited with 3"
    precondition(succeeded.told == [status, "STOPPING=1"], "\(succeeded.told)")
  }

  /// In a process whose parent has systemd's name.
  static func sibling() {
    let own = unsafe open("/proc/self/comm", O_WRONLY | O_CLOEXEC)
    precondition(unsafe write(own, "systemd", 7) == 7)
    let parent = getpid()
    let child = forkProcess()
    if child == 0 {
      let succeeded = Succeeded("grep PPid /proc/self/stat /proc/$$/status >&9; exit 3")
      succeeded.stop(when: isTold)
      precondition(succeeded.run() == .drained)
      precondition(succeeded.written.hasSuffix("PPid:\t\(parent)\n"), succeeded.written)
      // How it ended is for the parent.
      let status = "STATUS=No successor takes over: it ended before it took over"
      precondition(succeeded.told == [status, "STOPPING=1"], "\(succeeded.told)")
      _exit(0)
    }
    var status: CInt = 0
    precondition(unsafe waitpid(child, &status, 0) == child && status == 0, "The child ended with \(status).")
    precondition(unsafe waitpid(-1, &status, 0) > 0 && status == 3 << 8)
  }

  static func notFound() {
    let succeeded = Succeeded("", program: "/no/such/program")
    succeeded.stop(when: isTold)
    precondition(succeeded.run() == .drained)
    let status = "STATUS=No successor takes over: it could not be started: there is no '/no/such/program' to execute"
    precondition(succeeded.told == [status, "STOPPING=1"], "\(succeeded.told)")
  }

  static func tooSlow() {
    let succeeded = Succeeded("echo $$ >&9; exec sleep 1000", within: .milliseconds(300))
    let begin = SuspendingClock.now
    let ended = Later<Bool>()
    // Until it is reaped.
    succeeded.stop { written, told in
      guard isTold(written, told), let number = CInt(written.dropLast()) else { return false }
      ended.value = hasEnded(number)
      return ended.value
    }
    precondition(succeeded.run() == .drained && ended.value)
    precondition(SuspendingClock.now - begin >= .milliseconds(300))
    let status = "STATUS=No successor takes over: it was not ready within 0.3 seconds"
    precondition(succeeded.told == [status, "STOPPING=1"], "\(succeeded.told)")
  }

  static func endsLate() {
    let succeeded = Succeeded("echo $$ >&9; \(ready)", isRead: false)
    let (inbox, kept, file) = (succeeded.inbox, succeeded.messages, succeeded.file)
    // The manager reads when it has ended, and is a zombie or gone.
    succeeded.daemon.loop.add(
      Loop.Timer(every: .milliseconds(1)) { timer in
        guard let number = CInt(text(file).dropLast()), hasEnded(number) else { return }
        kept.withLock { $0 += inbox.messages() }
      }, to: .common)
    succeeded.stop(when: isTold)
    precondition(succeeded.run() == .drained)
    let told = succeeded.told
    let number = succeeded.written.dropLast()
    precondition(
      told == [
        "MAINPID=\(number)", "BARRIER=1", "MAINPID=\(getpid())",
        "STATUS=No successor takes over: it ended before it took over: exited with 0", "STOPPING=1",
      ], "\(told)")
  }

  static func deaf() {
    let close = "eval \"exec $RONDO_PREDECESSOR>&-\";"
    let succeeded = Succeeded("\(ready) \(close) echo $$ >&9; exec sleep 1000", isRead: false)
    let (inbox, kept, file) = (succeeded.inbox, succeeded.messages, succeeded.file)
    // The manager reads when the line is closed.
    succeeded.daemon.loop.add(
      Loop.Timer(every: .milliseconds(1)) { _ in
        if text(file).hasSuffix("\n") { kept.withLock { $0 += inbox.messages() } }
      }, to: .common)
    succeeded.stop(when: isTold)
    precondition(succeeded.run() == .drained)
    let status = "STATUS=No successor takes over: it ended before it took over: killed by signal 15"
    precondition(succeeded.told.dropLast().last == status, "\(succeeded.told)")
  }

  static func stopped() {
    let succeeded = Succeeded("echo $$ >&9; exec sleep 1000")
    let work = succeeded.daemon.beginWork()
    succeeded.stop { written, _ in written.hasSuffix("\n") }
    let file = succeeded.file
    succeeded.daemon.loop.add(
      Loop.Timer(every: .milliseconds(1)) { _ in
        if let number = CInt(text(file).dropLast()), hasEnded(number) { work.end() }
      }, to: .common)
    precondition(succeeded.run() == .drained)
    precondition(succeeded.told == ["STOPPING=1", "EXTEND_TIMEOUT_USEC=35000000"], "\(succeeded.told)")
  }

  static func notReady() {
    let inbox = try! Inbox()
    let loop = Loop.current
    let daemon = try! Daemon(on: loop, environment: ["NOTIFY_SOCKET": inbox.name])
    try! daemon.allowSuccessor(program: "/bin/sh", arguments: ["-c", "exit 3"])
    raise(SIGUSR2)
    while loop.statistics.descriptorCallouts == 0 { loop.run(for: .milliseconds(1)) }
    precondition(inbox.messages() == ["STATUS=No successor takes over: the daemon itself is not ready"])
  }

  static func twice() {
    let succeeded = Succeeded("echo $$ >&9; sleep 0.05; exit 3")
    let daemon = succeeded.daemon
    daemon.loop.add(Loop.Timer(after: .milliseconds(10)) { _ in raise(SIGUSR2) }, to: .common)
    succeeded.stop(when: isTold)
    precondition(succeeded.run(2) == .drained)
    precondition(succeeded.written.split(separator: "\n").count == 1)
  }

  static func signals() {
    signal(SIGINT, SIG_IGN)
    let succeeded = Succeeded("grep -E 'Sig(Blk|Ign)' /proc/self/status >&9; \(ready) \(wait)")
    precondition(succeeded.run() == .drained)
    let masks = succeeded.written.split(whereSeparator: \.isWhitespace).map(String.init)
    // Signals 32 and 33 are the C library's own.
    precondition(UInt64(masks[1], radix: 16) == 0 && UInt64(masks[3], radix: 16)! & 0x7FFF_FFFF == 2, "\(masks)")
  }

  static func deafManager() {
    let succeeded = Succeeded("\(ready) \(wait)", isRead: false)
    let begin = SuspendingClock.now
    precondition(succeeded.run() == .drained)
    precondition(SuspendingClock.now - begin >= .seconds(5))
  }
}
