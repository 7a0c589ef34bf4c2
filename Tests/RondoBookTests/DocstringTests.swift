import Foundation
import RondoTestSupport
import Testing

/// What is said of public declarations can stand in a catalogue: a first sentence of at most fifteen words.
@Suite(.offThePool) struct DocstringTests {
  private static let limit = 15
  private static let sources = Repository.files(under: "Sources", ending: ".swift").filter {
    $0.hasPrefix("Sources/Rondo") || $0.hasPrefix("Sources/Adapters/Rondo")
  }

  @Test(arguments: sources) func `what is said of a public declaration begins with a short sentence`(_ file: String)
    throws
  {
    for comment in try comments(in: Repository.lines(file)) {
      let sentence = firstSentence(of: comment)
      #expect(words(in: sentence) <= Self.limit, "\(file): \(sentence)")
      #expect(!sentence.hasPrefix("- "), "\(file): what it is comes before its parameters: \(sentence)")
    }
  }

  @Test func `a long sentence is noticed`() {
    let long = "/// One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen."
    #expect(comments(in: [long, "public var number: Int"]).map { words(in: firstSentence(of: $0)) } == [16])
    #expect(comments(in: [long, "var number: Int"]).isEmpty)
    #expect(
      firstSentence(of: ["*constant* How `a.b` is, as well. Any thread."]) == "How `a.b` is, as well."
    )
  }

  /// The comments of declarations that others may use, by line.
  private func comments(in lines: [String]) -> [[String]] {
    var found: [[String]] = []
    var comment: [String] = []
    for line in lines.map({ $0.trimmingCharacters(in: .whitespaces) }) {
      if line.hasPrefix("///") {
        comment.append(String(line.dropFirst(3)).trimmingCharacters(in: .whitespaces))
        continue
      }
      // An attribute on a line of its own stands between the two.
      if line.hasPrefix("@"), !line.contains("public ") { continue }
      // What the expression would find out slowly.
      let isPublic =
        line.contains("public ")
        && line.contains(/^(?:@\S+(?:\([^)]*\))? )*(?:nonisolated |override )*public (?!import)/)
      if !comment.isEmpty, isPublic || line.hasPrefix("case ") { found.append(comment) }
      comment = []
    }
    return found
  }

  /// Without the rule of access that stands before it.
  private func firstSentence(of comment: [String]) -> String {
    let paragraph = comment.prefix { !$0.isEmpty }.joined(separator: " ").replacing(/^(?:\*[^*]+\* *)+/, with: "")
    guard let end = paragraph.firstRange(of: /[.!?](?= +[A-Z`*])/) else { return paragraph }
    return String(paragraph[..<end.upperBound])
  }

  /// A name in backticks is one word.
  private func words(in sentence: String) -> Int {
    sentence.replacing(/`[^`]*`/, with: "x").split(separator: " ").count { $0.contains { $0.isLetter || $0.isNumber } }
  }
}
