import Foundation
import RondoTestSupport
import Testing

/// One word for one idea: the table of the page for contributors, and the public declarations.
@Suite(.offThePool) struct WordsTests {
  private static let sources = Repository.files(under: "Sources", ending: ".swift").filter {
    ($0.hasPrefix("Sources/Rondo") || $0.hasPrefix("Sources/Adapters/Rondo"))
      && !["RondoC/", "RondoCF/", "RondoCoreFoundation/", "RondoFoundation/"].contains(where: $0.contains)
  }

  @Test func `public declarations use the words of the table`() throws {
    let words = try Self.refused()
    #expect(words.count >= 20)
    for file in Self.sources {
      for declaration in try Self.declarations(in: Repository.lines(file)) {
        for word in words { #expect(!Self.uses(word, declaration), "\(file): \(word) in \(declaration)") }
      }
    }
  }

  @Test func `a word that is refused is found at the beginning of a name, and of a part of one`() {
    let lines = [
      "  public func read(", "    atMost limit: Int", "  ) -> Int {", "    atLeast()", "  func shutdown() {",
    ]
    let found = Self.declarations(in: lines)
    #expect(found == ["public func read( atMost limit: Int ) -> Int {"])
    #expect(
      Self.uses("atMost", found[0]) && !Self.uses("shutdown", found[0]) && !Self.uses("most", "public var foremost"))
    #expect(Self.uses("maximum", "public var theMaximumLength: Int"))
  }

  /// The last column of the table.
  private static func refused() throws -> [String] {
    let page = try Repository.text(".github/CONTRIBUTING.md")
    let table = try #require(page.components(separatedBy: "| idea | word | not |").last).components(
      separatedBy: "\n\n")[0]
    return table.split(separator: "\n").flatMap { row in
      (row.split(separator: "|").last ?? "").matches(of: /`([^`]+)`/).map { String($0.1) }
    }
  }

  /// Public declarations, each on one line.
  private static func declarations(in lines: [String]) -> [String] {
    PublicDeclaration.all(in: lines).filter(\.isMarked).map(\.text)
  }

  /// Whether a name or a part of a name begins with the word.
  private static func uses(_ word: String, _ declaration: String) -> Bool {
    let capital = word.prefix(1).uppercased() + word.dropFirst()
    return declaration.ranges(of: word).contains { range in
      range.lowerBound == declaration.startIndex
        || !declaration[declaration.index(before: range.lowerBound)].isLetter
    } || declaration.contains(capital)
  }
}
