import Foundation
import RondoTestSupport
import Testing

/// The programs of each form of main, built for debugging beside the tests, and in release by these.
enum Programs {
  /// In release where everything is asked for: it takes a build of its own.
  static let configurations = isWhole ? ["debug", "release"] : ["debug"]
  /// With the runtime inside as well, in release, where the toolchain has it for that. Another build.
  static let configurationsOfTheProbe = configurations + (hasStaticRuntime && isWhole ? ["static"] : [])

  /// How a run of a program ended, and what it printed, by line.
  struct End {
    let status: Int32
    let wasSignalled: Bool
    let lines: [String]
    let errors: String
  }

  static func run(_ name: String, _ arguments: String..., in configuration: String) throws -> End {
    let directory =
      switch configuration {
      case "debug": debug
      case "static": try linkedStatically.get()
      default: try release.get()
      }
    let process = Process()
    process.executableURL = directory.appending(path: name)
    process.arguments = arguments
    // A crash is what some are run for, and nobody reads its report.
    process.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
    let (output, errors) = (Pipe(), temporaryFile())
    process.standardOutput = output
    process.standardError = try FileHandle(forWritingTo: errors)
    defer { try? FileManager.default.removeItem(at: errors) }
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return End(
      status: process.terminationStatus, wasSignalled: process.terminationReason == .uncaughtSignal,
      lines: String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init),
      errors: try String(contentsOf: errors, encoding: .utf8))
  }

  private static func temporaryFile() -> URL {
    let file = FileManager.default.temporaryDirectory.appending(path: "rondo-main-\(UUID().uuidString)")
    _ = FileManager.default.createFile(atPath: file.path, contents: nil)
    return file
  }

  private static let debug = URL(
    filePath: (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
  ).deletingLastPathComponent()

  /// In the scratch directory of the other programs that tests build in release: <scratch>/probe.
  private static let release = Result {
    try build(["rondo-main-probe", "rondo-main-lines", "rondo-main-program"], in: "probe")
  }

  private static let linkedStatically = Result {
    try build(["rondo-main-probe"], in: "probe-static", "--static-swift-stdlib")
  }

  /// Beside the runtime's shared libraries, which this process runs with.
  private static let hasStaticRuntime: Bool = {
    guard let maps = try? FileHandle(forReadingAtPath: "/proc/self/maps")?.readToEnd(),
      let line = String(decoding: maps, as: UTF8.self).split(separator: "\n").first(where: {
        $0.hasSuffix("/libswiftCore.so")
      }),
      let path = line.firstIndex(of: "/")
    else { return false }
    let libraries = URL(filePath: String(line[path...])).appending(path: "../../..").standardized
    return FileManager.default.fileExists(
      atPath: libraries.appending(path: "swift_static/linux/libswiftCore.a").path)
  }()

  private static func build(_ products: [String], in directory: String, _ options: String...) throws -> URL {
    let scratch = debug.deletingLastPathComponent().deletingLastPathComponent().appending(path: directory)
    let root = URL(filePath: #filePath).appending(path: "../../..").standardized
    for product in products {
      let process = Process()
      process.executableURL = URL(filePath: "/usr/bin/env")
      process.arguments =
        [
          "swift", "build", "-c", "release", "--product", product, "--package-path", root.path, "--scratch-path",
          scratch.path,
        ] + options
      let pipe = Pipe()
      process.standardOutput = pipe
      process.standardError = pipe
      try process.run()
      let output = pipe.fileHandleForReading.readDataToEndOfFile()
      process.waitUntilExit()
      try #require(
        process.terminationStatus == 0, "\(product) did not build:\n\(String(decoding: output, as: UTF8.self))")
    }
    return scratch.appending(path: "release")
  }
}
