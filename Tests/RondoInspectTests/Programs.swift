import Foundation

/// Programs that are built beside the tests.
enum Programs {
  struct End {
    let status: Int32
    let lines: [String]
    /// What it wrote to the standard error.
    let errors: String

    /// The lines that are JSON objects.
    var objects: [[String: Any]] {
      lines.filter { $0.hasPrefix("{") }.compactMap {
        try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
      }
    }
  }

  static func run(_ name: String, _ arguments: String..., environment: [String: String] = [:]) throws -> End {
    let process = Process()
    process.executableURL = directory.appending(path: name)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let output = Pipe()
    process.standardOutput = output
    let errors = Pipe()
    process.standardError = errors
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return End(
      status: process.terminationStatus,
      lines: String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init),
      errors: String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self))
  }

  static let directory = URL(
    filePath: (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
  ).deletingLastPathComponent()
}
