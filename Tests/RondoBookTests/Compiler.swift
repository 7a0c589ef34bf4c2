import Foundation

/// The compiler, with the modules that these tests were built with.
enum Compiler {
  struct Refused: Error { let text: String }

  struct Outcome {
    let isAccepted: Bool
    let text: String
  }

  static let root = URL(filePath: #filePath).appending(path: "../../..").standardized

  /// The modules in C, by the files that describe them.
  private static let maps = [
    "CLinux": "Sources/CLinux/module.modulemap", "CLibevent": "Sources/CLibevent/module.modulemap",
    "CRondoDaemon": "Sources/CRondoDaemon/include/module.modulemap",
  ]

  /// Compiles a file of a program up to its intermediate language: what crosses isolation is looked at there.
  static func compile(_ snippet: String, without module: String? = nil) throws -> Outcome {
    try inFolder { folder in
      let file = folder.appending(path: "snippet.swift")
      let modules = ["Rondo", "RondoAsync", "RondoDaemon", "RondoSockets", "Synchronization"]
      let imports = modules.map { "import \($0)\n" }.joined()
      try "\(imports)\n\(snippet)".write(to: file, atomically: true, encoding: .utf8)
      let output = folder.appending(path: "snippet.sil").path
      return try run(["-emit-sil", "-parse-as-library", "-o", output, file.path], without: module)
    }
  }

  /// Compiles a whole program, links it with what the tests were built with, and passes its path to `body`.
  static func withProgram<Result>(_ source: String, _ body: (URL) throws -> Result) throws -> Result {
    try inFolder { folder in
      let file = folder.appending(path: "main.swift")
      try source.write(to: file, atomically: true, encoding: .utf8)
      let modules = ["Rondo", "RondoAsync", "RondoDaemon", "RondoMain", "RondoServer", "RondoSockets", "CRondoDaemon"]
      let objects = try modules.flatMap { module in
        let directory = try built.appending(path: "\(module).build")
        return try FileManager.default.subpathsOfDirectory(atPath: directory.path).filter { $0.hasSuffix(".o") }
          .sorted()
          .map { directory.appending(path: $0).path }
      }
      let program = folder.appending(path: "program")
      let outcome = try run(["-o", program.path, file.path] + objects + ["-levent_core"])
      guard outcome.isAccepted else { throw Refused(text: outcome.text) }
      return try body(program)
    }
  }

  /// Where these tests were built.
  private static var built: URL {
    get throws {
      URL(filePath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
        .deletingLastPathComponent()
    }
  }

  private static func inFolder<Result>(_ body: (URL) throws -> Result) throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appending(path: "rondo-book-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try body(folder)
  }

  private static func run(_ arguments: [String], without module: String? = nil) throws -> Outcome {
    let compiler = Process()
    compiler.executableURL = URL(filePath: "/usr/bin/env")
    compiler.arguments =
      ["swiftc", "-swift-version", "6", "-I", try built.appending(path: "Modules").path]
      + maps.filter { $0.key != module }.values.sorted().flatMap {
        ["-Xcc", "-fmodule-map-file=\(root.appending(path: $0).path)"]
      } + arguments
    let errors = Pipe()
    compiler.standardError = errors
    try compiler.run()
    let data = errors.fileHandleForReading.readDataToEndOfFile()
    compiler.waitUntilExit()
    return Outcome(isAccepted: compiler.terminationStatus == 0, text: String(decoding: data, as: UTF8.self))
  }
}
