import Foundation
import RondoTestSupport
import Testing

/// What the README says about the package, compared with the package.
@Suite(.offThePool) struct ReadmeTests {
  @Test(arguments: ["async-echo", "first-loop"]) func `the programs that are run are the README's, to the letter`(
    _ name: String
  ) throws {
    let source = try Repository.text("Sources/Examples/\(name)/main.swift")
    let program = try #require(source.firstRange(of: "import Glibc").map { source[$0.lowerBound...] })
    #expect(try Repository.text("README.md").contains("```swift\n\(program)```\n"))
    let statements = program.split(separator: "\n").filter { !$0.hasPrefix("import ") }
    #expect(statements.count <= 20)
  }

  @Test func `the README is short, and its first program stands near its beginning`() throws {
    let lines = try Repository.lines("README.md")
    #expect(lines.count <= 131)
    #expect(try Repository.text("README.md").utf8.count <= 8_192)
    let start = try #require(lines.firstIndex(of: "```swift"))
    #expect(try #require(lines[start...].firstIndex(of: "```")) < 40)
  }

  @Test func `the README's manifest is one that SwiftPM reads, and depends on products that there are`() throws {
    let blocks = try Repository.text("README.md").components(separatedBy: "```swift\n").dropFirst()
    let manifest = try #require(blocks.first { $0.hasPrefix("// swift-tools-version:") })
    let directory = FileManager.default.temporaryDirectory.appending(path: "rondo-readme-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let end = try #require(manifest.range(of: "```"))
    try Data(manifest[..<end.lowerBound].utf8).write(to: directory.appending(path: "Package.swift"))

    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["swift", "package", "dump-package", "--package-path", directory.path]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let dump = try JSONDecoder().decode(Manifest.self, from: pipe.fileHandleForReading.readDataToEndOfFile())
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    #expect(dump.targets.map(\.name) == ["echo"])
    let used = dump.targets.flatMap(\.dependencies).compactMap { $0.product?.first ?? nil }
    #expect(used == ["RondoServer"])
    #expect(try Set(used).isSubset(of: products()))
  }

  /// As much of a manifest as the test reads. A product is its name, its package and what else SwiftPM writes there.
  private struct Manifest: Decodable {
    let targets: [Target]
    struct Target: Decodable {
      let name: String
      let dependencies: [Dependency]
    }
    struct Dependency: Decodable {
      let product: [String?]?
    }
  }

  @Test func `the table of products on the first page is the package's list`() throws {
    let page = try Repository.text("Sources/Rondo/Rondo.docc/Rondo.md")
    let table = try #require(page.components(separatedBy: "\n| product |").last)
    let rows = table.prefix(upTo: try #require(table.range(of: "\n\n")).lowerBound)
    #expect(rows.matches(of: /\n\| `(\w+)` \|/).map { String($0.1) }.sorted() == (try products()))
  }

  @Test func `the version is that of the newest changes`() throws {
    let code = try Repository.text("Sources/Rondo/API/Loop+Version.swift")
    let version = try #require(code.firstMatch(of: /version = "(\d+\.\d+\.\d+)"/)).1
    let article = try Repository.text("Sources/Rondo/Rondo.docc/LimitsErrorsAndPromises.md")
    let changes = try #require(article.components(separatedBy: "\n## Changes\n").last)
    #expect(changes.firstMatch(of: /\n### (\S+)/)?.1 == version)
    #expect(code.contains("semantic versioning: `\(version)`"))
  }

  /// The products of the package, by name.
  private func products() throws -> [String] {
    try Repository.text("Package.swift").matches(of: /\.library\(name: "(\w+)"/).map { String($0.1) }.sorted()
  }
}
