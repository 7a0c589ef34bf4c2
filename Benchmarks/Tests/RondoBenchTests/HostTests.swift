import Foundation
import Testing

/// The main loop as the guest of GLib's, libuv's, SwiftNIO's and sd-event's: everything is served.
@Suite(.serialized) struct HostTests {
  @Test(arguments: ["glib", "libuv", "nio", "sd-event"]) func `a guest is served`(host: String) throws {
    let findings = try findings(of: host)
    if findings["missing"] != nil {
      print("Skipped: \(host) is not installed; see `make setup-bench`. SwiftNIO takes its trait.")
      return
    }
    #expect(findings["timers"] == "20")
    #expect(findings["early"] == "0")
    #expect(findings["actor"] == "1000")
    #expect(findings["main-actor"] == "200")
    #expect(findings["posts"] == "100002")
    #expect(findings["idle-turns"] == "2")
  }

  /// What the program prints, which is built into the directory of the tests.
  private func findings(of host: String) throws -> [String: String] {
    let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let process = Process()
    process.executableURL = URL(filePath: tests).deletingLastPathComponent().appending(path: "rondo-hosts")
    process.arguments = [host]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    try #require(process.terminationReason == .exit && process.terminationStatus == 0)
    return String(decoding: data, as: UTF8.self).split(separator: "\n").reduce(into: [:]) { findings, line in
      let words = line.split(separator: " ", maxSplits: 1)
      if words.count == 2 { findings[String(words[0])] = String(words[1]) }
    }
  }
}
