import Foundation
import Testing

/// Programs for CFRunLoop, compiled for the real one and for Rondo's: only the import or the include differs.
@Suite struct ProgramTests {
  private static let tests = URL(filePath: #filePath).appending(path: "../..").standardized
  @Test func `programs in Swift print the same with either import`() throws {
    let real = try lines(of: program("cf-programs-real"))
    let rondo = try lines(of: program("cf-programs-rondo"))
    #expect(real.count == 22)
    #expect(real == rondo)
  }

  @Test func `the programs in Swift are the same files`() throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: Self.tests.appending(path: "CFPrograms").path)
    #expect(names.count == 6)
    for name in names {
      let other = Self.tests.appending(path: "CFProgramsRondo/\(name)").resolvingSymlinksInPath()
      #expect(other == Self.tests.appending(path: "CFPrograms/\(name)").resolvingSymlinksInPath())
    }
  }

  @Test func `programs in C print the same with either include`() throws {
    guard let real = try compileForCoreFoundation() else { return }
    let expected = try lines(of: real)
    #expect(expected.count > 40)
    #expect(try lines(of: program("cf-programs-c")) == expected)
  }

  @Test func `message ports answer between two processes and two threads`() throws {
    let said = try lines(of: program("cf-programs-c"), "ports")
    func asked(_ who: String) -> [String] {
      [
        "remote 1", "result 0, \(who) 1: hello", "result 0, \(who) 2: hello", "invalidated, remote 1", "result -3",
        "result 0",
      ]
    }
    // Two processes or threads write: what each says is in order.
    let ofServer = ["made", "contains", "valid", "process released", "thread released"]
    let served = said.filter { line in ofServer.contains { line.hasPrefix($0) } }
    func serves(_ who: String) -> [String] {
      ["made 1, free info 0; the same 1, free info 1", "contains 1", "\(who) released", "valid 0"]
    }
    #expect(served == serves("process") + serves("thread"))
    let rest = said.filter { line in !ofServer.contains { line.hasPrefix($0) } }
    #expect(rest == asked("process") + ["nobody 1"] + asked("thread"))
  }

  // MARK: - Running

  /// A program of this package, which is built beside the tests.
  private func program(_ name: String) throws -> URL {
    let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    return URL(filePath: tests).deletingLastPathComponent().appending(path: name)
  }

  private func lines(of program: URL, _ arguments: String...) throws -> [String] {
    let (status, said) = try run(program, arguments)
    #expect(status == 0)
    return said.split(separator: "\n").map(String.init)
  }

  private func run(_ program: URL, _ arguments: [String]) throws -> (CInt, String) {
    let process = Process()
    let output = Pipe()
    process.executableURL = program
    process.arguments = arguments
    process.standardOutput = output
    try process.run()
    let said = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (process.terminationStatus, said)
  }

  /// The program in C with CoreFoundation's include; nil where the toolchain has no compiler for it on the path.
  private func compileForCoreFoundation() throws -> URL? {
    let (status, path) = try run(URL(filePath: "/usr/bin/env"), ["sh", "-c", "readlink -f \"$(command -v swift)\""])
    #expect(status == 0)
    let swift = URL(filePath: path.trimmingCharacters(in: .whitespacesAndNewlines))
    let toolchain = swift.deletingLastPathComponent().deletingLastPathComponent()
    let compiler = toolchain.appending(path: "bin/clang")
    guard FileManager.default.isExecutableFile(atPath: compiler.path) else { return nil }
    let library = toolchain.appending(path: "lib/swift").path
    let product = FileManager.default.temporaryDirectory.appending(path: "cf-programs-c-\(UUID())")
    let arguments = [
      "-fblocks", "-I\(library)", Self.tests.appending(path: "CFProgramsC/main.c").path, "-L\(library)/linux",
      "-Wl,-rpath,\(library)/linux", "-lFoundation", "-lBlocksRuntime", "-lpthread", "-o", product.path,
    ]
    #expect(try run(compiler, arguments).0 == 0)
    return product
  }
}
