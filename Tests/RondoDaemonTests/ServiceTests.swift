import Glibc
import Rondo
import RondoSockets
import RondoTestSupport
import RondoTesting
import Testing

@testable import RondoDaemon

/// What systemd says, and what it is told.
@Suite struct ServiceTests {
  // MARK: - What it says

  private func descriptors(_ environment: [String: String], limit: Int = 1024) throws(DaemonError) -> [String] {
    try ServiceEnvironment.descriptors(in: environment, for: 42, limit: limit).map { "\($0.descriptor)\($0.name)" }
  }

  @Test func `descriptors are those from 3 on, with their names`() throws {
    #expect(try descriptors([:]) == [])
    #expect(try descriptors(["LISTEN_FDS": "2", "LISTEN_PID": "42"]) == ["3unknown", "4unknown"])
    #expect(
      try descriptors(["LISTEN_FDS": "3", "LISTEN_PID": "42", "LISTEN_FDNAMES": "http::admin"])
        == ["3http", "4", "5admin"])
    #expect(try descriptors(["LISTEN_FDS": "2", "LISTEN_PID": "42", "LISTEN_FDNAMES": "a"]) == ["3a", "4unknown"])
    #expect(try descriptors(["LISTEN_FDS": "0", "LISTEN_PID": "42"]) == [])
  }

  @Test func `what was meant for another process is nobody's`() throws {
    #expect(try descriptors(["LISTEN_FDS": "2", "LISTEN_PID": "41"]) == [])
    #expect(try descriptors(["LISTEN_FDS": "2"]) == [])
    #expect(try descriptors(["LISTEN_PID": "42"]) == [])
    let other = ["WATCHDOG_USEC": "1000", "WATCHDOG_PID": "41"]
    #expect(try ServiceEnvironment.watchdogPeriod(in: other, for: 42) == nil)
  }

  @Test(arguments: [
    ("LISTEN_PID", "x"), ("LISTEN_PID", "-1"), ("LISTEN_PID", "99999999999"), ("LISTEN_FDS", ""), ("LISTEN_FDS", "-1"),
    ("LISTEN_FDS", "2 "), ("LISTEN_FDNAMES", "a:b:c"),
  ])
  func `nonsense is named`(_ variable: String, _ value: String) {
    var environment = ["LISTEN_FDS": "2", "LISTEN_PID": "42"]
    environment[variable] = value
    #expect(throws: DaemonError.malformed(variable: variable, value: value)) { try descriptors(environment) }
  }

  @Test func `more descriptors than a process may have cost no memory`() {
    let environment = ["LISTEN_FDS": "9223372036854775807", "LISTEN_PID": "42"]
    #expect(throws: DaemonError.tooManyDescriptors(.max)) { try descriptors(environment) }
    #expect(throws: DaemonError.tooManyDescriptors(8)) {
      try descriptors(["LISTEN_FDS": "8", "LISTEN_PID": "42"], limit: 10)
    }
  }

  @Test(.offThePool) func `a descriptor that is not open is named, and one that is is closed on exec`() async {
    await #expect(processExitsWith: .success) { Activation.runInFork() }
  }

  @Test func `the watchdog's period is what it says`() throws {
    #expect(try ServiceEnvironment.watchdogPeriod(in: [:], for: 42) == nil)
    #expect(try ServiceEnvironment.watchdogPeriod(in: ["WATCHDOG_USEC": "30000000"], for: 42) == .seconds(30))
    for value in ["0", "-1", "", "1s", "99999999999999999999"] {
      #expect(throws: DaemonError.malformed(variable: "WATCHDOG_USEC", value: value)) {
        try ServiceEnvironment.watchdogPeriod(in: ["WATCHDOG_USEC": value], for: 42)
      }
    }
  }

  @Test func `100,000 random environments are read or refused, and never more than is there`() {
    var random = SeededRandom(seed: 14)
    let alphabet = Array("0123456789:-+ a@/\u{0}ü%")
    let names = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "WATCHDOG_USEC", "WATCHDOG_PID", "NOTIFY_SOCKET"]
    var found = 0
    for _ in 0..<100_000 {
      var environment: [String: String] = ["LISTEN_PID": "42", "LISTEN_FDS": "\(random.next() % 5)"]
      for name in names where random.next() % 3 == 0 {
        environment[name] = String((0..<random.next() % 8).map { _ in alphabet[Int(random.next() % 18)] })
      }
      if let some = try? ServiceEnvironment.descriptors(in: environment, for: 42, limit: 64) {
        #expect(some.count <= 61 && some.map(\.descriptor) == (0..<CInt(some.count)).map { $0 + 3 })
        found += some.isEmpty ? 0 : 1
      }
      if let period = try? ServiceEnvironment.watchdogPeriod(in: environment, for: 42) { #expect(period > .zero) }
      // Another one than an abstract name makes a file, or a line on stderr.
      if environment["NOTIFY_SOCKET"]?.first == "@" { _ = try? ServiceManager(environment: environment) }
    }
    #expect(found > 1_000)
  }

  // MARK: - What it is told

  @Test func `states are told as systemd reads them, and a status cannot say another thing`() {
    let text = { (state: ServiceState) in String(decoding: state.message(now: 1_234_567_890), as: UTF8.self) }
    #expect(text(.ready) == "READY=1")
    #expect(text(.reloading) == "RELOADING=1\nMONOTONIC_USEC=1234567")
    #expect(text(.status("a\nREADY=1\r\nb")) == "STATUS=a READY=1 b")
    #expect(text(.stopping) == "STOPPING=1")
    #expect(text(.watchdog) == "WATCHDOG=1")
    #expect(text(.stuck) == "WATCHDOG=trigger")
    #expect(text(.extended(.milliseconds(1_500))) == "EXTEND_TIMEOUT_USEC=1500000")
    #expect(text(.extended(.seconds(-1))) == "EXTEND_TIMEOUT_USEC=0")
    #expect(text(.mainProcess(42)) == "MAINPID=42")
    #expect(text(.stored(name: "web")) == "FDSTORE=1\nFDNAME=web")
    #expect(text(.removed(name: "web")) == "FDSTOREREMOVE=1\nFDNAME=web")
    #expect(text(.barrier) == "BARRIER=1")
  }

  @Test(arguments: ["x", "ü", "€", "👩‍👩‍👧‍👧"]) func `a status has at most 1 KiB, and whole characters`(_ character: String) {
    let size = character.utf8.count
    for extra in 0...4 {
      let begin = String(repeating: "-", count: extra)
      let text = begin + String(repeating: character, count: 1_024)
      let status = String(decoding: ServiceState.status(text).message(), as: UTF8.self)
      #expect(status == "STATUS=" + begin + String(repeating: character, count: (1_024 - extra) / size))
    }
  }

  @Test(arguments: [true, false]) func `a manager at a file or an abstract name is told in order`(_ isFile: Bool) throws
  {
    let inbox = try Inbox(isFile: isFile)
    try onLoopThread { stage in
      let manager = try #require(try ServiceManager(environment: ["NOTIFY_SOCKET": inbox.name]))
      manager.join(stage.loop)
      manager.tell(.ready)
      manager.tell(.status("working"))
      manager.tell(.stopping)
      manager.invalidate()
    }
    #expect(inbox.messages() == ["READY=1", "STATUS=working", "STOPPING=1"])
  }

  @Test func `a manager that does not read is waited for by the loop, and misses only what is stale`() throws {
    let inbox = try Inbox()
    try onLoopThread { stage in
      let manager = try #require(try ServiceManager(environment: ["NOTIFY_SOCKET": inbox.name]))
      manager.join(stage.loop)
      // Its queue is net.unix.max_dgram_qlen long.
      let count = 2_000
      for _ in 0..<count { manager.tell(.ready) }
      manager.tell(.watchdog)
      manager.tell(.status("old"))
      manager.tell(.status("new"))
      manager.tell(.stopping)
      var messages: [String] = []
      stage.run {
        messages += inbox.messages()
        return messages.last == "STOPPING=1"
      }
      #expect(messages == Array(repeating: "READY=1", count: count) + ["STATUS=new", "STOPPING=1"])
      manager.invalidate()
    }
  }

  /// The queue of a manager is net.unix.max_dgram_qlen long: some of them wait.
  @Test(.timeLimit(.minutes(5))) func `what another thread tells while the loop sends is sent, too`() throws {
    let inbox = try Inbox()
    let thread = try LoopThread(name: "manager")
    let manager = try #require(try ServiceManager(environment: ["NOTIFY_SOCKET": inbox.name]))
    manager.join(thread.loop)
    let count = stressCount(15_000)
    var missing = 0
    for _ in 0..<count {
      for _ in 0..<12 { manager.tell(.ready) }
      missing += 12
      while missing > 0 { missing -= inbox.messages().count }
    }
    manager.invalidate()
    thread.stop()
    #expect(missing == 0)
  }

  @Test(arguments: [EMSGSIZE, ENOBUFS, ECONNREFUSED])
  func `a message that is refused takes others with it only if the manager has gone`(_ error: CInt) throws {
    try withSimulation { simulation in
      let host = simulation.host("10.0.0.1")
      let manager = try host.run {
        let inbox = try Socket.datagram(at: .abstract("manager"))
        let manager = try #require(try ServiceManager(environment: ["NOTIFY_SOCKET": "@manager"]))
        manager.join(host.loop)
        // There is no room for three of them: each sends twice, before and after it connects.
        for _ in 1...6 { simulation.faults.fail(.send, with: EAGAIN) }
        for _ in 1...2 { simulation.faults.fail(.send, with: error) }
        for news in [ServiceState.ready, .status("a"), .stopping] { manager.tell(news) }
        host.loop.run(for: .seconds(1))
        var messages: [String] = []
        while case .datagram(let datagram) = try inbox.receive() {
          messages.append(String(decoding: datagram.bytes, as: UTF8.self))
        }
        #expect(messages == (error == ECONNREFUSED ? [] : ["STATUS=a", "STOPPING=1"]))
        return manager
      }
      manager.invalidate()
    }
  }

  @Test(.offThePool) func `a manager at an address of another kind is not told, which is said`() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let daemon = try Daemon(environment: ["NOTIFY_SOCKET": "vsock:2:1234"])
      precondition(!daemon.isManaged)
    }
    let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(said.contains("NOTIFY_SOCKET=vsock:2:1234 is no Unix-domain socket"))
  }

  @Test func `nobody at the address is no reason to stop, and whoever comes there later is told`() throws {
    let name = "@\(uniqueName())"
    try onLoopThread { stage in
      let manager = try #require(try ServiceManager(environment: ["NOTIFY_SOCKET": name]))
      manager.join(stage.loop)
      manager.tell(.ready)
      for _ in 0..<2 {
        // Until the one before has gone, the address is in use.
        var inbox: Inbox?
        _ = succeedsWithoutCopies {
          inbox = try? Inbox(name)
          return inbox != nil
        }
        manager.tell(.watchdog)
        #expect(inbox?.messages() == ["WATCHDOG=1"])
      }
      manager.invalidate()
    }
  }

  @Test func `without NOTIFY_SOCKET nobody is told, and one that is no address is named`() throws {
    #expect(try ServiceManager(environment: [:]) == nil)
    #expect(try ServiceManager(environment: ["NOTIFY_SOCKET": ""]) == nil)
    #expect(throws: DaemonError.notifyAddress(.empty)) { try ServiceManager(environment: ["NOTIFY_SOCKET": "@"]) }
    let long = "/" + String(repeating: "x", count: 200)
    #expect(throws: DaemonError.notifyAddress(.tooLong(long, limit: 107))) {
      try ServiceManager(environment: ["NOTIFY_SOCKET": long])
    }
  }
}

/// A service manager's socket.
final class Inbox: Sendable {
  let name: String
  private let socket: Socket

  init(_ name: String) throws {
    self.name = name
    socket = try .datagram(at: name.first == "@" ? .abstract(String(name.dropFirst())) : .file(name))
  }

  convenience init(isFile: Bool = false) throws {
    try self.init(isFile ? "/tmp/\(uniqueName())" : "@\(uniqueName())")
  }

  deinit {
    if name.first == "/" { _ = unsafe unlink(name) }
  }

  /// What has come since the last time.
  func messages() -> [String] {
    var found: [String] = []
    while case .datagram(let datagram)? = try? socket.receive() {
      found.append(String(decoding: datagram.bytes, as: UTF8.self))
    }
    return found
  }
}

private enum Activation {
  /// In a child without Dispatch's threads: 3 and 4 may be theirs, and Dispatch ends a process that closes them.
  static func runInFork() {
    let child = forkProcess()
    if child == 0 { run() }
    var status: CInt = 0
    precondition(unsafe waitpid(child, &status, 0) == child && status == 0, "The child ended with \(status).")
  }

  private static func run() {
    // Dispatch may have opened its own already, or not yet.
    while case let number = dup(STDIN_FILENO), number <= 4 { precondition(number >= 0) }
    let (own, other) = try! Socket.pair()
    // As systemd would: 3 is a socket, 4 is nothing.
    for descriptor in CInt(3)...4 { close(descriptor) }
    precondition(dup2(own.descriptor, 3) == 3)
    var environment = ["LISTEN_PID": "\(getpid())", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "echo"]
    let found = try! ActivatedDescriptor.all(environment: environment)
    precondition(found.map(\.name) == ["echo"] && fcntl(3, F_GETFD) == FD_CLOEXEC)
    let socket = try! found[0].socket()
    precondition(try! socket.send([1]) == 1 && other.receive() == .bytes([1]))
    environment["LISTEN_FDS"] = "2"
    do throws(DaemonError) {
      _ = try ActivatedDescriptor.all(environment: environment)
      fatalError("It was taken for an open one.")
    } catch {
      precondition(error == .notOpen(4))
    }
    _exit(0)
  }
}
