import RondoFoundation
import Testing

/// A program of the package, which is built into the directory of the tests.
func program(_ name: String) throws -> URL {
  let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
  let program = URL(filePath: tests).deletingLastPathComponent().appending(path: name)
  return try #require(
    FileManager.default.isExecutableFile(atPath: program.path) ? program : nil, "\(name) is not built")
}

/// What a program of the package prints, by line.
func lines(of name: String, _ arguments: [String] = []) throws -> [String] {
  let process = Process()
  process.executableURL = try program(name)
  process.arguments = arguments
  let pipe = Pipe()
  process.standardOutput = pipe
  try process.run()
  let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
  process.waitUntilExit()
  try #require(process.terminationReason == .exit && process.terminationStatus == 0)
  return String(decoding: data, as: UTF8.self).components(separatedBy: "\n")
}
