import Foundation
import Testing

/// What the documentation says about the code, compared with the code.
@Suite struct DocumentationTextTests {
  private static let catalogue = "Sources/Rondo/Rondo.docc/"

  /// A file of the repository.
  private func text(_ path: String) throws -> String {
    try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
  }

  private static let root = URL(fileURLWithPath: #filePath).appending(path: "../../..").standardized

  private func lines(_ path: String) throws -> [String] {
    try text(path).components(separatedBy: "\n")
  }

  // MARK: - The turn

  @Test func `the steps are those of the code`() throws {
    let steps = try stepsOfTheCode()
    #expect(steps.count == 14)
    let documented = try lines(Self.catalogue + "HowALoopRuns.md").compactMap {
      $0.firstMatch(of: /^(\d+)\. \*\*(.+)\*\*/)
    }
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
    try lines("Sources/Rondo/Turn/Loop+Run.swift").compactMap { line in
      guard let comment = line.firstMatch(of: /\S  \/\/ (\d+)(?: (.+))?$/) else { return nil }
      if let name = comment.2 { return "\(comment.1) \(name)" }
      guard let call = line.firstMatch(of: /callObservers\(\.(\w+)/) else { return nil }
      return "\(comment.1) \(call.1) observers"
    }
  }

  // MARK: - The list of differences

  private static let list = "Tests/RondoParity/README.md"

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
