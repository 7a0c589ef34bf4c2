import Foundation
import Testing

/// What the documentation says about the code, compared with the code.
@Suite struct DocumentationTextTests {
  private static let catalogue = "Sources/Rondo/Rondo.docc/"
  private static let documents =
    ["README.md"]
    + [
      "Rondo", "TheTurn", "Threading", "Concurrency", "StateThatHandlersShare", "Timers", "Embedding",
      "ComingFromCFRunLoop",
    ].map {
      catalogue + $0 + ".md"
    }
    + ["ComingFromFoundation", "PortsAndSockets"].map { "Sources/RondoFoundation/RondoFoundation.docc/\($0).md" }
    + ["Sources/RondoRecipes/RondoRecipes.docc/RondoRecipes.md", "Sources/RondoDaemon/RondoDaemon.docc/RondoDaemon.md"]
    + ["Sources/RondoCoreFoundation/RondoCoreFoundation.docc/RondoCoreFoundation.md"]

  /// Where a document's examples are compiled.
  private static func compiled(_ document: String) -> [String] {
    let library = document == "README.md" ? "Rondo" : document.split(separator: "/")[1]
    let programs =
      switch document {
      case "README.md": ["Sources/echo-daemon/main.swift", "Sources/async-main/App.swift"]
      case catalogue + "Concurrency.md": ["Sources/async-main/App.swift"]
      // Where the other loops are that it is about.
      case catalogue + "Embedding.md": ["Benchmarks/Tests/RondoGuestTests/DocumentationExamplesTests.swift"]
      default: library == "RondoFoundation" ? ["Tests/XCTestBridge/Names.swift"] : []
      }
    return ["Tests/\(library)Tests/DocumentationExamplesTests.swift"] + programs
  }

  /// A file of the repository.
  private func text(_ path: String) throws -> String {
    try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
  }

  private static let root = URL(fileURLWithPath: #filePath).appending(path: "../../..").standardized

  private func lines(_ path: String) throws -> [String] {
    try text(path).components(separatedBy: "\n")
  }

  // MARK: - Examples

  @Test(arguments: documents) func `every example is compiled as it stands`(_ document: String) throws {
    let compiled = try Self.compiled(document).map(lines)
    let examples = try examples(in: document)
    #expect(!examples.isEmpty)
    for example in examples {
      #expect(compiled.contains { contains($0, example) }, "not compiled:\n\(example.joined(separator: "\n"))")
    }
  }

  /// The Swift code blocks of a document, without what they import. A manifest is not among them: `ReadmeTests` has it.
  private func examples(in document: String) throws -> [[String]] {
    var examples: [[String]] = []
    var example: [String]?
    for line in try lines(document) {
      if line == "```swift" {
        example = []
      } else if line == "```", let finished = example {
        if finished.first?.hasPrefix("// swift-tools-version:") != true {
          examples.append(Array(finished.drop { $0.isEmpty }))
        }
        example = nil
      } else if !line.hasPrefix("import ") {
        example?.append(line)
      }
    }
    return examples
  }

  /// Whether `code` holds the lines of `example` one after the other, all indented alike.
  private func contains(_ code: [String], _ example: [String]) -> Bool {
    code.indices.contains { start in
      guard start + example.count <= code.count, code[start].hasSuffix(example[0]) else { return false }
      let indent = String(code[start].dropLast(example[0].count))
      guard indent.allSatisfy({ $0 == " " }) else { return false }
      return zip(code[start...], example).allSatisfy { $0 == ($1.isEmpty ? "" : indent + $1) }
    }
  }

  // MARK: - The turn

  @Test func `the steps are those of the code`() throws {
    let steps = try stepsOfTheCode()
    #expect(steps.count == 14)
    let documented = try lines(Self.catalogue + "TheTurn.md").compactMap { $0.firstMatch(of: /^(\d+)\. \*\*(.+)\*\*/) }
    #expect(documented.map { "\($0.1) \($0.2)" } == steps)
  }

  @Test func `the picture of the turn has the steps of the code`() throws {
    let words = try matches(of: />([^<\n]+)<\/text>/, in: Self.catalogue + "Resources/turn.svg")
    let steps = try stepsOfTheCode().map { $0.split(separator: " ", maxSplits: 1).map(String.init) }
    for step in steps { #expect(words.contains(step[0]) && words.contains(step[1]), "\(step)") }
    #expect(words.filter { Int($0) != nil }.count == steps.count)
  }

  /// The numbers and names beside the calls of `Loop+Run.swift`; a call that tells observers is named by its activity.
  private func stepsOfTheCode() throws -> [String] {
    try lines("Sources/Rondo/Loop/Loop+Run.swift").compactMap { line in
      guard let comment = line.firstMatch(of: /\S  \/\/ (\d+)(?: (.+))?$/) else { return nil }
      if let name = comment.2 { return "\(comment.1) \(name)" }
      guard let call = line.firstMatch(of: /tellObservers\(\.(\w+)/) else { return nil }
      return "\(comment.1) \(call.1) observers"
    }
  }

  // MARK: - The floors

  @Test func `libevent is imported by one file, which README names`() throws {
    let files = try #require(FileManager.default.enumerator(atPath: Self.root.appending(path: "Sources").path))
    let importers = try files.compactMap { $0 as? String }.filter {
      try $0.hasSuffix(".swift") && lines("Sources/\($0)").contains { $0.contains(/^[^\/]*\bimport\b.*\bCLibevent\b/) }
    }
    let row = try #require(try lines("README.md").first { $0.hasPrefix("| `Sources/Rondo/Wait` |") })
    let named = try #require(row.firstMatch(of: /`(\w+\.swift)` alone/))
    #expect(importers == ["Rondo/Wait/\(named.1)"])
  }

  // MARK: - The list of differences

  private static let list = catalogue + "ComingFromCFRunLoop.md"

  @Test func `every row on which Rondo decided otherwise is on the list`() throws {
    let both = try matches(of: /row\(\s*"(\w+)"/, in: "Tests/RondoParity/Table/Excluded.swift")
    let others = try matches(of: /id: "(\w+)"/, in: "Tests/RondoParity/Table/Exclusions.swift")
    let sections = try text(Self.list).components(separatedBy: "\n### ")
    #expect(!both.isEmpty && !others.isEmpty && sections.count == 4)
    #expect(rows(of: sections[1]).sorted() == both.sorted())
    #expect(rows(of: sections[2]).sorted() == others.sorted())
  }

  @Test func `every decision is on the list`() throws {
    let decisions = try matches(of: /decision: "([^"]+)"/, in: "Tests/RondoParity/Table/Excluded.swift")
    let section = try #require(try text(Self.list).components(separatedBy: "\n## ").first { $0.hasPrefix("The diff") })
    let names = section.matches(of: /\n\| ([^|]+) \|/).flatMap { String($0.1).components(separatedBy: ", ") }
    #expect(Set(decisions).subtracting(names).isEmpty)
  }

  @Test func `every test the list names exists`() throws {
    for name in try text(Self.list).matches(of: /`(Excluded\w*Tests|TableTests)\.(\w+)`/) {
      let suite = try text("Tests/RondoParityTests/\(name.1).swift")
      #expect(suite.contains("func \(name.2)("), "\(name.0)")
    }
  }

  private func matches(of pattern: Regex<(Substring, Substring)>, in path: String) throws -> [String] {
    try text(path).matches(of: pattern).map { String($0.1) }
  }

  private func rows(of section: String) -> [String] {
    section.matches(of: /\n\| ([A-K]\d\d\w*) \|/).map { String($0.1) }
  }
}
