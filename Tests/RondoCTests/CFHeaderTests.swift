import Foundation
import Testing

/// The header, its implementation and its documentation, compared with each other.
@Suite struct CFHeaderTests {
  private static let root = URL(filePath: #filePath).appending(path: "../../..").standardized
  private static let headers = ["CFRunLoop", "CFBase", "CFValues", "CFMessagePort", "CFSocket", "CFFileDescriptor"].map
  {
    "Sources/CRondoCF/include/rondo/\($0).h"
  }

  private func text(_ path: String) throws -> String {
    try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
  }

  /// The functions that the header declares.
  private func declared() throws -> [String] {
    try Self.headers.flatMap { header in
      try text(header).matches(of: /RONDO_CF\(\s*[^,()]+,\s*(\w+),\s*\(/).map { String($0.1) }
    }
  }

  @Test func `every function that the header declares is implemented, and no other`() throws {
    let directory = "Sources/RondoCF/Functions"
    let files = try FileManager.default.contentsOfDirectory(atPath: Self.root.appending(path: directory).path)
    let implemented = try files.flatMap { file in
      try text("\(directory)/\(file)").matches(of: /public func Rondo(CF\w+)\(/).map { String($0.1) }
    }
    // What takes any number of arguments is in C.
    let inC = try text("Sources/CRondoCF/format.c").matches(of: /(?m)^const void \*Rondo(CF\w+)\(/).map { String($0.1) }
    let declared = try declared()
    #expect(declared.count > 120 && inC.count == 2)
    #expect(declared.sorted() == (implemented + inC).sorted())
  }

  @Test func `librondo.so exports every function and constant that the header declares, and no other`() throws {
    let constants = try Self.headers.flatMap { header in
      try text(header).matches(of: /RONDO_CF\(\s*[^,()]+,\s*(\w+),\s*\);/).map { String($0.1) }
    }
    let exported = try text("Sources/CRondo/Library/rondo.map").matches(of: /(?m)^ {4}Rondo(\w+);/).map {
      String($0.1)
    }
    #expect(constants.count == 7)
    #expect(try (declared() + constants).sorted() == exported.sorted())
  }

  @Test(arguments: ["c99", "c11", "c23", "c++98", "c++11", "c++20"])
  func `the header compiles without a warning`(_ standard: String) throws {
    let compiler = Process()
    let output = Pipe()
    compiler.executableURL = URL(filePath: "/usr/bin/env")
    compiler.arguments = [
      "clang", "-fsyntax-only", "-Wall", "-Wextra", "-x", standard.hasPrefix("c++") ? "c++" : "c", "-std=\(standard)",
      Self.headers[0],
    ]
    compiler.currentDirectoryURL = Self.root
    compiler.standardError = output
    try compiler.run()
    let said = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    compiler.waitUntilExit()
    // A machine may have a toolchain without its compiler for C on the path.
    if compiler.terminationStatus != 127 { #expect(said == "") }
  }
}
