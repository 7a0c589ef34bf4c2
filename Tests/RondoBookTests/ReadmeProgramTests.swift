import Foundation
import Rondo
import RondoSockets
import RondoTestSupport
import Testing

/// The programs of the README, compiled from its text and run. `make examples` attacks the server.
@Suite(.offThePool) struct ReadmeProgramTests {
  @Test func `the server returns what it gets, and ends with SIGTERM`() throws {
    try withProgram(importing: "RondoServer") { program in
      let run = try Run(program, "127.0.0.1:0")
      defer { run.end(SIGKILL) }
      let line = try run.nextLine()
      let address = try #require(line.wholeMatch(of: /Listening at (\S+)\. Ctrl-C ends the server\./)).1
      let socket = try Socket(family: AF_INET, .stream)
      try socket.connect(to: SocketAddress(parsing: String(address)), timeout: .seconds(60))
      try socket.send(Array("hello\n".utf8), timeout: .seconds(60))
      var answer: [UInt8] = []
      while answer.count < 6 {
        var query = pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)
        try #require(unsafe poll(&query, 1, 60_000) == 1)
        guard case .bytes(let bytes) = try socket.receive() else { break }
        answer += bytes
      }
      #expect(answer == Array("hello\n".utf8))
      run.end(SIGTERM)
      #expect(try run.rest() == [])
    }
  }

  @Test func `the loop tells of its input, of three seconds and of its end, each at once`() throws {
    try withProgram(importing: "RondoDaemon") { program in
      let begin = ContinuousClock.now
      let run = try Run(program)
      run.input.fileHandleForWriting.write(Data("hello\n".utf8))
      // Into a pipe, while the program runs.
      let first = try run.nextLine()
      let lines = try [first] + run.rest()
      #expect(ContinuousClock.now - begin >= .seconds(3))
      #expect(lines.contains("standard input: read") && lines.last == "The run ended: timedOut")
      // A machine that stalls merges ticks.
      let ticks = lines.compactMap { $0.wholeMatch(of: /a second, (\d+) missed/) }
      #expect(ticks.reduce(0) { $0 + 1 + Int($1.1)! } == 3)
      #expect(lines.count == ticks.count + 2)
    }
  }

  /// The first program of the README that has an import.
  private func withProgram(importing module: String, _ body: (URL) throws -> Void) throws {
    let blocks = try Repository.text("README.md").matches(of: /(?ms)^```swift\n(.*?)^```$/).map(\.1)
    let source = try #require(blocks.first { $0.contains("import \(module)\n") })
    try Compiler.withProgram(String(source), body)
  }
}

/// A process of a program, whose output is read while it runs.
private final class Run {
  let input = Pipe()
  private let output = Pipe()
  private let process = Process()

  init(_ program: URL, _ arguments: String...) throws {
    process.executableURL = program
    process.arguments = arguments
    process.standardInput = input
    process.standardOutput = output
    try process.run()
  }

  /// The next line that is printed, as soon as it is there.
  func nextLine() throws -> String {
    var line: [UInt8] = []
    while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != 10 { line.append(byte) }
    return String(decoding: line, as: UTF8.self)
  }

  func end(_ signal: CInt) {
    if process.isRunning { kill(process.processIdentifier, signal) }
  }

  /// The lines to the end of the program, which is a success.
  func rest() throws -> [String] {
    let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationReason == .exit && process.terminationStatus == 0)
    return text.split(separator: "\n").map(String.init)
  }
}
