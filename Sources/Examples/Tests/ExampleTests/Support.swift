import Foundation
import Rondo
import Testing

/// The loop of `onLoopThread`.
func loopUnderTest() -> Loop { .current }

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
