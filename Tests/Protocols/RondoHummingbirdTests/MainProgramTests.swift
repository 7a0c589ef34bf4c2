import Foundation
import Testing

/// `@MainActor` code of a server on the main loop, in a program with an async main.
@Suite struct MainProgramTests {
  @Test func `on the main loop, handlers and routes of the main actor are served without a hop`() throws {
    // The program stands beside the one of the tests.
    let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let process = Process()
    process.executableURL = URL(filePath: tests).deletingLastPathComponent().appending(path: "protocols-main")
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationReason == .exit && process.terminationStatus == 0)
    #expect(
      text == """
        handler 1: main loop true, main thread true
        handler 2: main loop true, main thread true
        middleware: main loop true, main thread true
        route 3: main loop true, main thread true
        route 4: main loop true, main thread true
        200 200 200 200

        """)
  }
}
