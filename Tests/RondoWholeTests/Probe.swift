import Foundation
import RondoTestSupport
import Testing

/// The probe: what is built beside the tests, and in release where everything is asked for.
///
/// Its system calls are the same in both. Its allocations are not: those of an unoptimised build are the compiler's.
enum Probe {
  private static let given = ProcessInfo.processInfo.environment["RONDO_PROBE"]

  /// Whether the probe is built in release.
  static let isOptimised = isWhole || given != nil

  /// Built once, beside the build of the tests; `RONDO_PROBE` names one that is built in release already.
  static let path: String = {
    if let given { return given }
    // The tests run from <scratch>/<triple>/<configuration>/.
    let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    let directory = URL(filePath: tests).deletingLastPathComponent()
    guard isWhole else { return directory.appending(path: "rondo-probe").path }
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let scratch = directory.deletingLastPathComponent().deletingLastPathComponent().appending(path: "probe")
    let build = [
      "build", "-c", "release", "--product", "rondo-probe", "--package-path", root.path, "--scratch-path", scratch.path,
    ]
    let result = run("swift", build)
    guard result.status == 0 else { return "the probe did not build:\n\(result.output)" }
    return scratch.appending(path: "release/rondo-probe").path
  }()

  /// What a run of the probe printed: names and values.
  static func findings(_ subject: String...) throws -> [String: String] {
    let result = run(path, subject)
    try #require(result.status == 0, "rondo-probe \(subject): \(result.output)")
    return parse(result.output)
  }

  /// How a run of the probe ended, and what it said on both streams.
  static func end(_ arguments: [String]) -> (status: Int32, output: String) {
    run(path, arguments)
  }

  /// The same of a shell's command, which finds the probe's path in `$0`.
  static func end(shell command: String) -> (status: Int32, output: String) {
    run("sh", ["-c", command, path])
  }

  /// How a run of the probe ended.
  static func status(_ subject: String) -> Int32 {
    run(path, [subject]).status
  }

  /// A run of the probe under strace: what it printed, and every system call.
  static func trace(_ subject: String) throws -> (findings: [String: String], calls: SystemCalls) {
    try trace(path, [subject])
  }

  /// The same of the program with ported and unported files, which is built with the tests.
  static func traceBridge(_ arguments: [String]) throws -> SystemCalls {
    let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let program = URL(filePath: tests).deletingLastPathComponent().appending(path: "foundation-probe")
    return try trace(program.path, arguments).calls
  }

  private static func trace(
    _ program: String, _ arguments: [String]
  ) throws -> (findings: [String: String], calls: SystemCalls) {
    let file = FileManager.default.temporaryDirectory.appending(path: "rondo-\(UUID().uuidString).strace")
    defer { try? FileManager.default.removeItem(at: file) }
    let result = run("strace", ["-f", "-o", file.path, program] + arguments)
    try #require(result.status == 0, "strace has to be installed and allowed to trace: \(result.output)")
    return (parse(result.output), SystemCalls(try String(contentsOf: file, encoding: .utf8)))
  }

  private static func parse(_ output: String) -> [String: String] {
    var findings: [String: String] = [:]
    for line in output.split(separator: "\n") {
      guard let space = line.firstIndex(of: " ") else { continue }
      findings[String(line[..<space])] = String(line[line.index(after: space)...])
    }
    return findings
  }

  private static func run(_ command: String, _ arguments: [String]) -> (status: Int32, output: String) {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [command] + arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    do { try process.run() } catch { return (-1, "\(error)") }
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: output, as: UTF8.self))
  }
}
