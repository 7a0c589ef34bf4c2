import Foundation
import RondoTestSupport
import Testing

/// Sentences of documents end before a reader has lost their beginning.
@Suite(.offThePool) struct SentenceTests {
  private static let limit = 30

  @Test(arguments: Repository.documents) func `no sentence of a document is long`(_ document: String) throws {
    for sentence in Self.sentences(in: try Repository.prose(document)) {
      let count = Self.words(in: sentence)
      #expect(count <= Self.limit, "\(document): \(sentence)")
    }
  }

  @Test func `a sentence ends at its stop, its paragraph, its item or its cell`() {
    let text = "One. Two `a. b` [three](x. Y)! Four\nfive\n\nsix\n- seven\n| eight | nine |\n# Ten"
    let found = Self.sentences(in: text)
    #expect(found == ["One.", "Two X [three](x)!", "Four five", "six", "- seven", "eight", "nine", "# Ten"])
    #expect(found.map(Self.words) == [1, 3, 2, 1, 1, 1, 1, 1])
  }

  private static func sentences(in text: String) -> [String] {
    text.split(separator: "\n", omittingEmptySubsequences: false).filter { !$0.hasPrefix("    ") }.joined(
      separator: "\n"
    )
    .replacing(/`[^`]*`/, with: "X").replacing(/\]\(.*?\)/, with: "](x)")
    .replacing(/\n(?=[ ]*(?:[-*#|]|\d+\.) ?)/, with: "\n\n").components(separatedBy: "\n\n")
    .flatMap { $0.hasPrefix("|") ? $0.components(separatedBy: "|") : [$0] }
    .flatMap {
      $0.replacing(/\s+/, with: " ").replacing(/([.!?:])\x29? (?=[A-Z<])/) { "\($0.1)\u{0}" }.split(separator: "\0")
    }
    .map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
  }

  private static func words(in sentence: String) -> Int {
    sentence.split(separator: " ").count { $0.contains { $0.isLetter || $0.isNumber } }
  }
}
