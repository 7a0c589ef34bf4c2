import Foundation
import Testing

/// The peer of a message port is killed in the middle of a request: everybody is told, nothing hangs, nothing is left.
@Suite struct KillTests {
  @Test func `of 200 requests whose receiver is killed, every one fails or is answered`() throws {
    let directory = TestDirectory()
    let findings = try Probe.findings(["kill", "200", directory.path])
    // Nobody can answer in these states, so all 50 are told that the peer has gone.
    #expect(findings["handling-gone"] == 50)
    #expect(findings["holding-gone"] == 50)
    #expect(findings["deaf-gone"] == 50)
    // Killed while it answers: the reply is cut, or not there yet, or whole.
    let answering = ["answering-cut", "answering-gone", "answering-answered-4194304"].compactMap { findings[$0] }
    #expect(answering.reduce(0, +) == 50)
    #expect(findings["descriptors"] == 0)
    #expect(findings.values.reduce(0, +) == 200)
  }
}

/// The executable beside the tests.
enum Probe {
  static func findings(_ arguments: [String]) throws -> [String: Int] {
    let process = Process()
    process.executableURL = try path
    process.arguments = arguments
    // The address sanitizer would keep 256 MiB of what was freed, which no bound on memory allows for.
    process.environment = ProcessInfo.processInfo.environment.merging(
      ["ASAN_OPTIONS": "quarantine_size_mb=8"]) { set, ours in "\(set):\(ours)" }
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    try #require(process.terminationStatus == 0, "rondo-probe: \(output)")
    let pairs = output.split(separator: "\n").map { $0.split(separator: " ") }
    return Dictionary(uniqueKeysWithValues: pairs.map { (String($0[0]), Int($0[1])!) })
  }

  /// The tests run from the build directory's own executable, or from the toolchain with the bundle as an argument.
  private static var path: URL {
    get throws {
      let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
      let beside = ([own] + CommandLine.arguments).map {
        URL(filePath: $0).deletingLastPathComponent().appending(path: "rondo-probe")
      }
      return try #require(beside.first { FileManager.default.isExecutableFile(atPath: $0.path) })
    }
  }
}
