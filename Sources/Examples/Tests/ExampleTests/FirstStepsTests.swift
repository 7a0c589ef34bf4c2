import Foundation
import Testing

/// An example of callbacks: a timer, a listener and a signal.
@Suite struct FirstStepsTests {
  @Test func `first-steps greets who connects, and ends with SIGINT`() throws {
    let process = Process()
    process.executableURL = URL(filePath: try program("first-steps"))
    process.standardInput = FileHandle.nullDevice
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    // From here on SIGINT has a handler; before, it would end the process by itself.
    try wait("for first-steps to take SIGINT over") {
      let status = try String(contentsOfFile: "/proc/\(process.processIdentifier)/status", encoding: .utf8)
      let caught = status.firstMatch(of: /SigCgt:\s*([0-9a-f]+)/).flatMap { UInt64($0.1, radix: 16) }
      return (caught ?? 0) & 1 << 1 != 0
    }
    #expect(kill(process.processIdentifier, SIGINT) == 0)
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationReason == .exit && process.terminationStatus == 0)
    #expect(text.hasPrefix("Connect to 127.0.0.1:") && text.hasSuffix("The end.\n"))
  }
}
