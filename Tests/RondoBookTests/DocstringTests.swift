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
    for declaration in try PublicDeclaration.all(in: Repository.lines(file)) {
      let sentence = declaration.sentence
      #expect(declaration.wordCount <= Self.limit, "\(file): \(sentence)")
      #expect(!sentence.hasPrefix("- "), "\(file): what it is comes before its parameters: \(sentence)")
    }
  }

  @Test func `a long sentence is noticed`() {
    let long = "/// One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen."
    #expect(PublicDeclaration.all(in: [long, "public var number: Int"]).map(\.wordCount) == [16])
    #expect(PublicDeclaration.all(in: [long, "var number: Int"]).isEmpty)
    let access = PublicDeclaration.all(in: ["/// *constant* How `a.b` is, as well. Any thread.", "public let a = 1"])
    #expect(access.map(\.sentence) == ["How `a.b` is, as well."])
  }
}
