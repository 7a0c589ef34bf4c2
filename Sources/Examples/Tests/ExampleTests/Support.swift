import Foundation
import Rondo
import Testing

/// The loop of `onLoopThread`.
func loopUnderTest() -> Loop { .current }

/// An example, which is built into the directory of the tests.
func program(_ name: String) throws -> String {
  let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
  let places = ([own] + CommandLine.arguments).map {
    URL(filePath: $0).deletingLastPathComponent().appending(path: name).path
  }
  return try #require(places.first { FileManager.default.isExecutableFile(atPath: $0) }, "\(name) is not built")
}

/// What a program prints, and how it ends.
func run(_ program: String, _ arguments: [String] = []) throws -> (status: CInt, output: String) {
  let process = Process()
  process.executableURL = URL(filePath: program)
  process.arguments = arguments
  let pipe = Pipe()
  process.standardOutput = pipe
  try process.run()
  let output = String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
  process.waitUntilExit()
  return (process.terminationStatus, output)
}

/// What an example prints, by line, without those that are empty.
func lines(of name: String, _ arguments: [String] = []) throws -> [String] {
  let (status, output) = try run(program(name), arguments)
  try #require(status == 0)
  return output.split(separator: "\n").map(String.init)
}
