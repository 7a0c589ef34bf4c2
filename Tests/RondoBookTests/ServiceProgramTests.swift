import Foundation
import Rondo
import RondoSockets
import RondoTestSupport
import Testing

/// The README's server as the article on daemons has it: by its unit, and by its code.
@Suite(.offThePool) struct ServiceProgramTests {
  /// An address of this process's own.
  private let host = "127.\(UInt8.random(in: 64...127)).\(getpid() >> 8 & 255).\(getpid() & 255)"

  private func text(_ pattern: Regex<(Substring, Substring)>) throws -> String {
    let article = try Repository.text("Sources/Rondo/Rondo.docc/RunningADaemon.md")
    return String(try #require(article.firstMatch(of: pattern)).1)
  }

  /// The first program of the README that is a server.
  private func server() throws -> String {
    let blocks = try Repository.text("README.md").matches(of: /(?ms)^```swift\n(.*?)^```$/).map(\.1)
    return String(try #require(blocks.first { $0.contains("import RondoServer\n") }))
  }

  @Test func `the README's server runs by the article's unit`() throws {
    let unit = try text(/(?ms)^(\[Unit\]\nDescription=Echo server\n.*?)^```$/)
    #expect(unit.contains("Type=exec\n") && unit.contains("TimeoutStopSec=10\n"))
    let command = try #require(unit.firstMatch(of: /ExecStart=\/usr\/local\/bin\/async-echo (\S+)\n/)).1
    try Compiler.withProgram(server()) { program in
      let address = String(command).replacing("0.0.0.0", with: host)
      let service = try Service(program, address, notifying: nil)
      // systemd reads its output from a pipe or a socket.
      #expect(try service.firstLine() == "Listening at \(address). Ctrl-C ends the server.")
      #expect(try service.echoes(at: address))
      #expect(service.end() == 0)
    }
  }

  @Test func `the README's server as a daemon is replaced under systemd`() throws {
    let code = try text(/(?ms)^```swift\n(try await withDaemon\(on: \.main, grace: \.seconds\(5\)\).*?)^```$/)
    let head = try #require(server().components(separatedBy: "let listener").first)
    try Compiler.withProgram(head + code) { program in
      let manager = try Socket.datagram(at: .abstract("\(host)-manager"))
      let address = "\(host):7007"
      let service = try Service(program, address, notifying: "@\(host)-manager")
      #expect(try manager.nextMessage() == "READY=1")
      #expect(try service.echoes(at: address))
      service.send(SIGUSR2)
      let successor = try #require(try manager.nextMessage().firstMatch(of: /^MAINPID=(\d+)$/).flatMap { pid_t($0.1) })
      #expect(try manager.nextMessage() == "BARRIER=1")
      #expect(service.wait() == 0)
      #expect(try manager.nextMessage() == "READY=1")
      #expect(try service.echoes(at: address))
      kill(successor, SIGTERM)
      #expect(try manager.nextMessage() == "STOPPING=1")
    }
  }
}

extension Socket {
  /// The next datagram, for which it waits two minutes at most.
  fileprivate func nextMessage() throws -> String {
    var query = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    let count = unsafe poll(&query, 1, 120_000)
    try #require(count == 1, "nothing was told")
    guard case .datagram(let one) = try receive() else { return "" }
    return String(decoding: one.bytes, as: UTF8.self)
  }
}

/// A program as systemd starts it. It is killed with the last reference.
private final class Service {
  private let process = Process()
  private let output = Pipe()

  init(_ program: URL, _ argument: String, notifying address: String?) throws {
    process.executableURL = program
    process.arguments = [argument]
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    if let address { process.environment = ["NOTIFY_SOCKET": address] }
    try process.run()
  }

  deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

  func firstLine() throws -> String {
    var line: [UInt8] = []
    while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != 10 { line.append(byte) }
    return String(decoding: line, as: UTF8.self)
  }

  func send(_ signal: CInt) { kill(process.processIdentifier, signal) }

  /// Its exit code; nil if a signal has ended it.
  func wait() -> CInt? {
    process.waitUntilExit()
    return process.terminationReason == .exit ? process.terminationStatus : nil
  }

  func end() -> CInt? {
    send(SIGTERM)
    return wait()
  }

  func echoes(at address: String) throws -> Bool {
    let socket = try Socket(family: AF_INET, .stream)
    try socket.connect(to: SocketAddress(parsing: address), timeout: .seconds(120))
    try socket.send(Array("hello\n".utf8), timeout: .seconds(120))
    try socket.finishWriting()
    var answer: [UInt8] = []
    while true {
      var query = pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)
      let count = unsafe poll(&query, 1, 120_000)
      guard count == 1, case .bytes(let bytes) = try socket.receive() else { break }
      answer += bytes
    }
    return answer == Array("hello\n".utf8)
  }
}
