import Glibc
import Rondo
import RondoSockets
import RondoTestSupport
import Testing

@testable import RondoDaemon

/// A daemon that was started to take another one's place. Each test is a process of its own, forked: the numbers from 3
/// on, which a predecessor or systemd passes, may be Dispatch's in the process of the tests.
@Suite struct PredecessorTests {
  @Test(.offThePool) func `a successor takes the listeners of its predecessor, if the addresses are the same`() async {
    await #expect(processExitsWith: .success) { Begun.inFork { $0.addresses() } }
  }

  @Test(.offThePool) func `listeners of one name are taken by their addresses, in any order`() async {
    await #expect(processExitsWith: .success) { Begun.inFork { $0.order() } }
  }

  @Test(.offThePool) func `what a successor has not taken when it is ready is closed`() async {
    await #expect(processExitsWith: .success) { Begun.inFork { $0.unclaimed() } }
  }

  @Test(.offThePool) func `a successor tells systemd nothing before its predecessor has made way`() async {
    await #expect(processExitsWith: .success) { Begun.inFork { $0.silence() } }
  }

  @Test(.offThePool) func `a successor whose predecessor has ended speaks to systemd`() async {
    await #expect(processExitsWith: .success) { Begun.inFork { $0.orphan() } }
  }

  @Test(.offThePool) func `a listener of systemd's keeps the address of its unit`() async {
    await #expect(processExitsWith: .success) { Begun.inFork(withPredecessor: false) { $0.unit() } }
  }

  @Test(.offThePool) func `a line to no predecessor is named`() async {
    await #expect(processExitsWith: .success) { Begun.inFork { $0.nonsense() } }
  }
}

/// A process that has the sockets web (twice), input and old at 3 to 6, and perhaps a line to its predecessor at 7.
private struct Begun {
  let passed: [Socket]
  /// The predecessor's end of the line.
  let line: Socket
  let inbox: Inbox
  var environment: [String: String]

  static func inFork(withPredecessor: Bool = true, _ body: (Begun) -> Void) {
    let child = forkProcess()
    if child == 0 {
      body(Begun(withPredecessor))
      _exit(0)
    }
    var status: CInt = 0
    precondition(unsafe waitpid(child, &status, 0) == child && status == 0, "The child ended with \(status).")
  }

  private init(_ withPredecessor: Bool) {
    while case let number = dup(STDIN_FILENO), number <= 8 { precondition(number >= 0) }
    inbox = try! Inbox()
    let (line, itsEnd) = try! Socket.pair()
    self.line = line
    passed = try! [
      .listening(at: .loopback()), .listening(at: .loopback()), .datagram(at: .loopback()), .listening(at: .loopback()),
    ]
    for (index, socket) in (passed + [itsEnd]).enumerated() {
      precondition(dup2(socket.descriptor, CInt(3 + index)) == 3 + index)
    }
    environment = [
      "NOTIFY_SOCKET": inbox.name, "LISTEN_PID": "\(getpid())", "LISTEN_FDS": "4",
      "LISTEN_FDNAMES": "web:web:input:old",
    ]
    if withPredecessor { environment["RONDO_PREDECESSOR"] = "7" }
  }

  private func daemon() -> Daemon { try! Daemon(on: .current, claimsSignals: false, environment: environment) }

  /// The first messages to systemd, for which the loop runs two minutes at most.
  private func messages(_ daemon: Daemon, _ count: Int) -> [String] {
    var messages: [String] = []
    for _ in 0..<120_000 where messages.count < count {
      daemon.loop.run(for: .milliseconds(1))
      messages += inbox.messages()
    }
    return messages
  }

  func addresses() {
    let daemon = daemon()
    precondition(fcntl(7, F_GETFD) == FD_CLOEXEC && fcntl(3, F_GETFD) == FD_CLOEXEC)
    let first = try! daemon.listener("web", at: passed[0].localAddress!)
    precondition(first.socket.descriptor == 3)
    // The new configuration has another address, which the kernel chooses.
    let other = try! SocketAddress.ipv4(.init("127.0.0.2")!, port: passed[1].localAddress!.port!)
    let second = try! daemon.listener("web", at: other)
    precondition(second.address == other)
    let third = try! daemon.listener("web", at: .loopback())
    precondition(third.socket.descriptor != 3)
    let input = try! daemon.socket("input", or: Socket(family: -1, .datagram))
    precondition(input.descriptor == 5 && input.kind == .datagram)
    let old = try! daemon.socket("old", at: other, or: .datagram(at: other))
    precondition(old.localAddress == other && old.kind == .datagram)
    let sockets = (first, second, third, input, old)
    let names = withExtendedLifetime(sockets) { daemon.sockets.withLock { $0.present.map(\.name) } }
    precondition(names == ["web", "web", "web", "input", "old"])
  }

  func order() {
    let daemon = daemon()
    let second = try! daemon.listener("web", at: passed[1].localAddress!)
    let first = try! daemon.listener("web", at: passed[0].localAddress!)
    precondition(first.socket.descriptor == 3 && second.socket.descriptor == 4)
  }

  func unclaimed() {
    let daemon = daemon()
    let web = try! daemon.listener("web", at: .loopback())
    daemon.ready()
    precondition(web.socket.descriptor == 3 && fcntl(3, F_GETFD) >= 0)
    for number in CInt(4)...6 { precondition(fcntl(number, F_GETFD) < 0) }
    // A second call finds no other's descriptor at these numbers.
    let other = dup(STDIN_FILENO)
    precondition(other == 4)
    daemon.ready()
    precondition(fcntl(other, F_GETFD) >= 0)
  }

  func silence() {
    let daemon = daemon()
    daemon.setStatus("begins")
    daemon.ready()
    precondition(try! line.receive() == .bytes([1]))
    for _ in 0..<10 { daemon.loop.run(for: .milliseconds(1)) }
    daemon.tell(.watchdog)
    precondition(inbox.messages() == [])
    precondition(try! line.send([1]) == 1)
    let messages = messages(daemon, 2)
    precondition(messages == ["STATUS=begins", "READY=1"], "\(messages)")
    daemon.tell(.watchdog)
    precondition(inbox.messages() == ["WATCHDOG=1"])
  }

  func orphan() {
    let daemon = daemon()
    daemon.ready()
    precondition(shutdown(line.descriptor, CInt(SHUT_RDWR)) == 0)
    precondition(messages(daemon, 1) == ["READY=1"])
  }

  func unit() {
    let daemon = daemon()
    let web = try! daemon.listener("web", at: .ipv4(.init("127.0.0.2")!, port: 1))
    precondition(web.socket.descriptor == 3)
    daemon.ready()
    // Other code of the program may have them.
    precondition(fcntl(4, F_GETFD) >= 0 && inbox.messages() == ["READY=1"])
    do throws(SocketError) {
      _ = try daemon.listener("input", at: .loopback())
      fatalError("A socket of datagrams listens.")
    } catch {
      precondition(error == .system(.listen, errno: EOPNOTSUPP), "\(error)")
    }
  }

  func nonsense() {
    var environment = environment
    func error(_ value: String) -> DaemonError? {
      environment["RONDO_PREDECESSOR"] = value
      do throws(DaemonError) {
        _ = try Daemon(on: .current, claimsSignals: false, environment: environment)
        return nil
      } catch {
        return error
      }
    }
    for value in ["", "x", "2", "-1"] {
      precondition(error(value) == .malformed(variable: "RONDO_PREDECESSOR", value: value))
    }
    precondition(error("400") == .notOpen(400))
    // Meant for another process.
    environment["LISTEN_PID"] = "1"
    precondition(error("400") == nil)
  }
}
