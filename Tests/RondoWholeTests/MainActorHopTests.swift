import Foundation
import Testing

extension StressTests {
  /// Hops that take in the main actor, in a process whose main thread runs its loop; Swift Testing's does not.
  @Suite struct MainActorHopTests {
    @Test func `ten thousand tasks hop between two loops and the main actor, each segment on the right thread`() throws
    {
      let process = Process()
      let probe = try #require(Self.probe)
      process.executableURL = probe
      process.arguments = ["hops"]
      let pipe = Pipe()
      process.standardOutput = pipe
      try process.run()
      let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      #expect(process.terminationReason == .exit && process.terminationStatus == 0)
      // Five segments of each task and two of the main function's.
      #expect(output == "right 50002\nwrong 0\nended 2\n")
    }

    /// The probe beside the tests, built as they are: with the sanitizer, if they have one.
    private static let probe: URL? = {
      let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
      // The tests run from the build directory's own executable, or from the toolchain with the bundle as an argument.
      let candidates = ([own] + CommandLine.arguments).map { path in
        URL(filePath: path).deletingLastPathComponent().appending(path: "rondo-probe")
      }
      return candidates.first { FileManager.default.isExecutableFile(atPath: $0.path) }
    }()
  }
}
