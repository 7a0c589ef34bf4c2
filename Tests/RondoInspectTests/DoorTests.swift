import CRondoInspect
import Foundation
import Glibc
import Rondo
import RondoTestSupport
import Testing

@testable import RondoInspect

/// The socket of this process, as a stranger comes to it.
@Suite(.serialized, .offThePool) struct DoorTests {
  /// What comes back for some bytes; the connection's end included.
  private static func answer(to bytes: [UInt8]) -> String {
    let socket = rondo_door_knock(getpid())
    guard socket >= 0 else { return "refused \(socket)" }
    defer { close(socket) }
    _ = unsafe rondo_door_send(socket, bytes, bytes.count)
    var (answer, part) = ([UInt8](), [UInt8](repeating: 0, count: 65_536))
    while true {
      let count = unsafe read(socket, &part, part.count)
      if count <= 0 { break }
      answer += part.prefix(count)
    }
    return String(decoding: answer, as: UTF8.self)
  }

  /// Asks again while the door has no room, as when guests before have not left yet.
  private static func report() throws -> [String: Any] {
    for _ in 0..<200 {
      let text = answer(to: Array("report\n".utf8))
      if let found = try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] { return found }
      usleep(50_000)
    }
    throw NoAnswer()
  }

  private struct NoAnswer: Error {}

  /// Not by `Inspector.open()`, which would have it told of every other test's loops.
  private static func open() throws { _ = try responder.get() }

  private static let responder = Result { try Responder(by: Watcher.shared()) }

  @Test func `a process tells of its loops`() throws {
    try Self.open()
    let thread = try LoopThread(name: "door test")
    let timer = Loop.Timer(every: .seconds(3_600)) { _ in }
    timer.name = "hourly"
    thread.loop.add(timer)
    _ = thread.loop.insight
    let report = try Self.report()
    #expect(report["process"] as? Int == Int(getpid()))
    let loops = try #require(report["loops"] as? [[String: Any]])
    let own = try #require(loops.first { $0["name"] as? String == "door test" })
    #expect(own["hasAnswered"] as? Bool == true)
    let items = try #require(own["items"] as? [[String: Any]])
    #expect(items.contains { $0["name"] as? String == "hourly" && $0["interval"] as? Int == 3_600_000_000_000 })
    #expect(!loops.contains { $0["name"] as? String == "rondo-watcher" })
    stop(thread)
  }

  @Test func `a stuck loop is told of, with its callout and its stack`() throws {
    try Self.open()
    let thread = try LoopThread(name: "stuck test")
    let (isIn, mayGo) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let source = Loop.Source {
      isIn.signal()
      mayGo.wait()
    }
    source.name = "the stuck one"
    _ = thread.loop.insight
    thread.loop.add(source)
    source.signal()
    isIn.wait()
    let loops = try #require(try Self.report()["loops"] as? [[String: Any]])
    let own = try #require(loops.first { $0["name"] as? String == "stuck test" })
    #expect(own["hasAnswered"] as? Bool == false)
    #expect((own["callouts"] as? [[String: Any]])?.last?["name"] as? String == "the stuck one")
    let stacks = Self.answer(to: Array("stack\n".utf8))
    #expect(stacks.contains("callOutSource"))
    mayGo.signal()
    stop(thread)
  }

  @Test func `rubbish, floods and silence leave the door open`() throws {
    try Self.open()
    #expect(Self.answer(to: Array("what\n".utf8)) == "")
    #expect(Self.answer(to: Array("trace 0\n".utf8)) == "")
    #expect(Self.answer(to: Array("trace 99999999999999999999\n".utf8)) == "")
    #expect(Self.answer(to: [UInt8](repeating: 0x41, count: 100_000)) == "")
    #expect(Self.answer(to: [0, 255, 10, 10, 10]) == "")
    // More than there is room for, none of whom says a word.
    let silent = (0..<64).map { _ in rondo_door_knock(getpid()) }
    for socket in silent where socket >= 0 { close(socket) }
    _ = try Self.report()
  }

  @Test func `the socket is a file that its user alone can open, in a directory of the user's own`() throws {
    let responder = try Self.responder.get()
    var status = stat()
    try #require(unsafe lstat(responder.path, &status) == 0)
    #expect(status.st_mode == S_IFSOCK | 0o600 && status.st_uid == geteuid())
    let directory = URL(filePath: responder.path).deletingLastPathComponent().path
    try #require(unsafe lstat(directory, &status) == 0)
    #expect(status.st_mode == S_IFDIR | 0o700 && status.st_uid == geteuid())
    // Nothing is left that anybody else could name.
    let names = try String(contentsOfFile: "/proc/net/unix", encoding: .utf8)
    #expect(!names.contains("@rondo-inspect/\(getpid())"))
  }

  @Test func `another user cannot even come to the door`() throws {
    let path = try Self.responder.get().path
    try #require(try Self.report()["process"] as? Int == Int(getpid()))
    guard geteuid() == 0 else { return }
    // Before the fork: its child has one thread of many, and must not wait for what another one holds.
    let address = Self.address(of: path)
    let child = forkProcess()
    if child == 0 {
      guard setgid(65_534) == 0, setuid(65_534) == 0 else { _exit(3) }
      _exit(Self.connect(to: address) == EACCES ? 0 : 1)
    }
    #expect(end(of: child) == .exit(0))
  }

  private static func address(of path: String) -> sockaddr_un {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
    return address
  }

  /// What connecting fails with, 0 if it does not. In a forked child: system calls and nothing else.
  private static func connect(to address: sockaddr_un) -> CInt {
    let socket = Glibc.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
    let isIn = unsafe withUnsafePointer(to: address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe Glibc.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
    return isIn ? 0 : errno
  }

  @Test func `who floods the door waits, and the watcher does not work for it`() throws {
    try Self.open()
    let began = ContinuousClock.now
    for _ in 0..<450 {
      let socket = rondo_door_knock(getpid())
      if socket >= 0 { close(socket) }
    }
    // The door takes in 128 in a second, and 17 wait in the kernel. A second that another test began may end at once,
    // the next two are whole.
    #expect(ContinuousClock.now - began >= .seconds(2))
    _ = try Self.report()
  }

  @Test func `the file of a process that is gone is removed, and that of another one stays`() throws {
    let path = try Self.responder.get().path
    let directory = URL(filePath: path).deletingLastPathComponent()
    let child = forkProcess()
    if child == 0 { _exit(0) }
    #expect(end(of: child) == .exit(0))
    let dead = directory.appending(path: "\(child).0123456789abcdef").path
    let socket = Glibc.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
    var address = Self.address(of: dead)
    let isBound = unsafe withUnsafePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
    #expect(isBound && close(socket) == 0)
    var room = [pid_t](repeating: 0, count: 4_096)
    let count = unsafe rondo_door_list(&room, room.count)
    #expect(room.prefix(count).contains(getpid()) && !room.prefix(count).contains(child))
    let (isDead, isAlive) = unsafe (access(dead, F_OK) != 0, access(path, F_OK) == 0)
    #expect(isDead && isAlive)
  }

  @Test func `a trace ends when its client goes, and the next one is taken`() throws {
    try Self.open()
    let socket = rondo_door_knock(getpid())
    let question = Array("trace 60000\n".utf8)
    #expect(unsafe rondo_door_send(socket, question, question.count) == question.count)
    var answer = ""
    // Once the first one is under way.
    while !answer.contains("is being taken") { answer = Self.answer(to: Array("trace 1\n".utf8)) }
    close(socket)
    let end = ContinuousClock.now + .seconds(40)
    while !answer.contains("traceEvents"), ContinuousClock.now < end {
      answer = Self.answer(to: Array("trace 1\n".utf8))
    }
    #expect(answer.contains("traceEvents"))
  }

  @Test func `a client that ends its side only is answered`() throws {
    try Self.open()
    var answer: [UInt8] = []
    while answer.isEmpty {
      let socket = rondo_door_knock(getpid())
      defer { close(socket) }
      let question = Array("trace 50\n".utf8)
      _ = unsafe rondo_door_send(socket, question, question.count)
      shutdown(socket, CInt(SHUT_WR))
      var part = [UInt8](repeating: 0, count: 65_536)
      while case let count = unsafe read(socket, &part, part.count), count > 0 { answer += part.prefix(count) }
    }
    #expect(String(decoding: answer, as: UTF8.self).hasPrefix("{"))
  }

  @Test func `a socket that cannot be had is told of once, not for each loop`() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      for _ in 0..<3 { Inspector.complain("no socket") }
    }
    let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(text == "rondo: no socket\n")
  }

  @Test func `the directory is the user's alone under any umask`() async {
    await #expect(processExitsWith: .success) { try openWithoutModes() }
  }

  @Test func `a trace has each block with an arrow from its post`() throws {
    try Self.open()
    let thread = try LoopThread(name: "trace test")
    _ = thread.loop.insight
    try thread.sync {}
    let before = thread.loop.statistics.blockCallouts
    let (begun, another) = (Trace([(thread.loop, Recorders.recorder(of: thread.loop))]), Trace([]))
    let trace = try #require(begun)
    #expect(another == nil)
    for _ in 0..<100 { thread.loop.perform {} }
    try thread.sync {}
    let text = trace.end()
    let after = thread.loop.statistics.blockCallouts
    let events = try #require(
      (try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])?["traceEvents"] as? [[String: Any]])
    func count(_ phase: String, _ category: String) -> Int {
      events.count { $0["ph"] as? String == phase && $0["cat"] as? String == category }
    }
    #expect(count("B", "block") == Int(after - before))
    #expect(count("s", "post") == Int(after - before))
    let starts = events.filter { $0["ph"] as? String == "s" }.compactMap { $0["id"] as? String }
    let ends = events.filter { $0["ph"] as? String == "f" }.compactMap { $0["id"] as? String }
    #expect(Set(starts) == Set(ends) && Set(starts).count == starts.count)
    // Every event has what the format asks for.
    for event in events {
      #expect(event["ph"] is String && event["pid"] is Int && event["tid"] is Int)
      if event["ph"] as? String != "M" { #expect(event["ts"] is Double || event["ts"] is Int) }
    }
    stop(thread)
  }

  private func stop(_ thread: LoopThread) { thread.stop() }
}

/// In a process of its own, whose umask leaves nothing of a mode.
private func openWithoutModes() throws {
  var place = Array("/tmp/rondo-door-XXXXXX\0".utf8CString)
  let runtime = try #require(unsafe mkdtemp(&place).map { unsafe String(cString: $0) })
  unsafe setenv("XDG_RUNTIME_DIR", runtime, 1)
  umask(0o777)
  let responder = try Responder(by: Watcher.shared())
  let directory = URL(filePath: responder.path).deletingLastPathComponent().path
  var status = stat()
  precondition(unsafe lstat(directory, &status) == 0)
  precondition(directory.hasPrefix(runtime) && status.st_mode == S_IFDIR | 0o700)
  responder.end()
  unsafe rmdir(directory)
  unsafe rmdir(runtime)
}

/// The command, as it is typed.
@Suite(.serialized, .offThePool) struct CommandTests {
  /// Runs `body` beside a program that waits to be asked.
  private func beside(_ way: String, _ body: (String) throws -> Void) throws {
    let process = Process()
    process.executableURL = Programs.directory.appending(path: "rondo-stuck")
    process.arguments = [way]
    process.environment = ProcessInfo.processInfo.environment.merging(["RONDO_INSPECT": "socket,stalls=60000"]) { $1 }
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    defer {
      // The one signal that a thread which starts programs cannot have blocked for them.
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
    // Its first word says that it is there, and may be the number of a child to ask instead.
    let word = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    #expect(!word.isEmpty)
    let child = pid_t(word.prefix { $0 != "\n" })
    defer { if let child { kill(child, SIGKILL) } }
    try body(String(child ?? process.processIdentifier))
  }

  @Test func `a process is told of in words, as JSON and for Prometheus`() throws {
    try beside("serve") { number in
      let words = try Programs.run("rondo-inspect", number)
      #expect(words.status == 0)
      #expect(words.lines.contains { $0.contains("loop main") })
      #expect(words.lines.contains { $0.contains("timer beat") })
      let json = try Programs.run("rondo-inspect", number, "--json")
      #expect((json.objects.first?["loops"] as? [[String: Any]])?.first?["name"] as? String == "main")
      let prometheus = try Programs.run("rondo-inspect", number, "--prometheus")
      #expect(prometheus.lines.contains { $0.hasPrefix("rondo_turns_total{loop=\"main\",thread=\"\(number)\"} ") })
      #expect(
        prometheus.lines.contains {
          $0.hasPrefix("rondo_run_seconds{") && $0.contains("item=\"beat\",quantile=\"0.99\"")
        })
      let trace = try Programs.run("rondo-inspect", number, "trace", "200ms")
      #expect(trace.objects.first?["traceEvents"] != nil)
      let page = try Programs.run("rondo-inspect", number, "trace", "200ms", "--html").lines
      let data = try #require(page.first { $0.hasPrefix("<script type=\"application/json\"") })
      #expect(data.contains("\"name\":\"beat\""))
    }
  }

  @Test func `a forked child has a door and a watcher of its own`() throws {
    try beside("fork") { number in
      let words = try Programs.run("rondo-inspect", number)
      #expect(words.status == 0)
      #expect(words.lines.contains { $0.contains("timer child's beat") })
    }
  }

  @Test func `a stopped process is told as stopped`() throws {
    try beside("serve") { number in
      let process = try #require(pid_t(number))
      kill(process, SIGSTOP)
      // One is stopped when its parent can hear of it.
      var status: CInt = 0
      let stopped = unsafe waitpid(process, &status, WUNTRACED)
      #expect(stopped == process)
      let end = try Programs.run("rondo-inspect", number)
      #expect(end.status == 1 && end.errors.contains("is stopped"))
    }
  }

  @Test func `a stuck process says where it is`() throws {
    try beside("hold") { number in
      let stack = try Programs.run("rondo-inspect", number, "stack")
      #expect(stack.status == 0)
      #expect(stack.lines.contains { $0.contains("in timer holder") })
      #expect(stack.lines.contains { $0.contains("stuckInSleep") })
      let words = try Programs.run("rondo-inspect", number)
      #expect(words.lines.contains { $0.contains("does not answer") })
    }
  }

  @Test func `what cannot be asked is said`() throws {
    #expect(try Programs.run("rondo-inspect", "1").status == 1)
    #expect(try Programs.run("rondo-inspect", "no-such-program").status == 1)
    #expect(try Programs.run("rondo-inspect").status == 2)
    #expect(try Programs.run("rondo-inspect", "1", "trace", "5h").status == 2)
    #expect(try Programs.run("rondo-inspect", "1", "--html").status == 2)
    #expect(try Programs.run("rondo-inspect", "--help").status == 0)
  }
}
