import Foundation
import Testing

/// The header, the library's list of names, the examples and the documentation, compared with each other.
@Suite struct HeaderTests {
  private static let root = URL(fileURLWithPath: #filePath).appending(path: "../../..").standardized
  private static let header = "Sources/CRondo/include/rondo.h"
  private static let examples = "Sources/Examples/rondo-c/"

  private func text(_ path: String) throws -> String {
    try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
  }

  private func examples(ending: String) throws -> [String] {
    let names = try FileManager.default.contentsOfDirectory(atPath: Self.root.appending(path: Self.examples).path)
    return names.filter { $0.hasSuffix(ending) }.sorted().map { Self.examples + $0 }
  }

  // MARK: - Compilers

  @Test(arguments: ["c99", "c11", "c23", "c++98", "c++11", "c++20"])
  func `the header compiles without a warning`(_ standard: String) throws {
    let language = standard.hasPrefix("c++") ? "c++" : "c"
    let complaints = try clang("-x", language, "-std=\(standard)", "-pedantic", Self.header)
    #expect(complaints == "")
  }

  @Test func `the examples in C compile without a warning`() throws {
    let examples = try examples(ending: ".c")
    #expect(!examples.isEmpty)
    for example in examples {
      #expect(try clang("-std=c99", "-pedantic", "-D_DEFAULT_SOURCE", example) == "", "\(example)")
    }
  }

  /// What the toolchain's compiler says of a file.
  private func clang(_ arguments: String...) throws -> String {
    let compiler = Process()
    let output = Pipe()
    compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    compiler.arguments =
      ["clang", "-fsyntax-only", "-Wall", "-Wextra", "-ISources/CRondo/include", "-ISources/CRondoCF/include"]
      + arguments
    compiler.currentDirectoryURL = Self.root
    compiler.standardError = output
    compiler.standardOutput = output
    try compiler.run()
    let said = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    compiler.waitUntilExit()
    // A machine may have a toolchain without its compiler for C on the path.
    return compiler.terminationStatus == 127 ? "" : said
  }

  // MARK: - Names

  @Test func `the library exports what the header declares`() throws {
    let declared = try text(Self.header).matches(of: /(?m)^[a-z][^\n*]*\*?\b(rondo_[a-z_]+)\(/).map { String($0.1) }
    let exported = try text("Sources/CRondo/Library/rondo.map").matches(of: /(?m)^ {4}(rondo_\w+);/).map {
      String($0.1)
    }
    #expect(declared.count > 50)
    #expect(declared.sorted() == exported)
  }

  @Test func `every function of the header is called by a stranger`() throws {
    let exported = try text("Sources/CRondo/Library/rondo.map").matches(of: /(?m)^ {4}(rondo_\w+);/).map {
      String($0.1)
    }
    let tests = try ["arguments", "lives", "loops", "processes", "stalls", "threads"].map {
      try text("Tests/CStranger/\($0).c")
    }
    for name in exported { #expect(tests.contains { $0.contains("\(name)(") }, "\(name)") }
  }

  // MARK: - Documentation

  @Test func `every example of the documentation stands in a program`() throws {
    let programs = try examples(ending: ".c").map(text)
    let blocks = try text("Sources/RondoC/RondoC.docc/RondoC.md").matches(of: /```c\n((?:.|\n)*?)```/).map {
      String($0.1)
    }
    #expect(blocks.count > 5)
    for block in blocks { #expect(programs.contains { $0.contains(block) }, "\(block)") }
  }

  @Test func `the documentation names nothing that there is not`() throws {
    let header = try text(Self.header)
    let names = try text("Sources/RondoC/RondoC.docc/RondoC.md").matches(
      of: /\b(rondo_[a-z_]+[a-z]|RONDO_[A-Z_]+[A-Z])\b/)
    for name in Set(names.map { String($0.1) }) { #expect(header.contains(name), "\(name)") }
  }
}
