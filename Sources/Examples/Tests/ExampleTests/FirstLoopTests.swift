import Foundation
import Testing

/// The loop of the README: a timer, a descriptor and a signal.
@Suite struct FirstLoopTests {
  @Test func `first-loop tells of its input, of three seconds and of its end`() throws {
    let begin = ContinuousClock.now
    let run = try Run()
    run.input.fileHandleForWriting.write(Data("hello\n".utf8))
    let lines = try run.rest()
    #expect(ContinuousClock.now - begin >= .seconds(3))
    #expect(lines.contains("standard input: read") && lines.last == "The run ended: timedOut")
    // A machine that stalls merges ticks.
    let ticks = lines.compactMap { $0.wholeMatch(of: /a second, (\d+) missed/) }
    #expect(ticks.reduce(0) { $0 + 1 + Int($1.1)! } == 3)
    #expect(lines.count == ticks.count + 2)
  }

  @Test func `first-loop prints at once, also into a pipe, and ends with SIGINT`() throws {
    let begin = ContinuousClock.now
    let run = try Run()
    #expect(try run.nextLine().hasPrefix("a second, "))
    run.interrupt()
    // On a machine that stalls, its three seconds may have passed.
    let last = try run.rest().last
    #expect(last == "The run ended: stopped" || ContinuousClock.now - begin >= .seconds(3))
  }
}

/// A process of the program, whose output is read while it runs.
private final class Run {
  let input = Pipe()
  private let output = Pipe()
  private let process = Process()

  init() throws {
    process.executableURL = URL(filePath: try program("first-loop"))
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

  func interrupt() { kill(process.processIdentifier, SIGINT) }

  /// The lines to the end of the program, which is a success.
  func rest() throws -> [String] {
    let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationReason == .exit && process.terminationStatus == 0)
    return text.split(separator: "\n").map(String.init)
  }
}
