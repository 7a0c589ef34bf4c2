import Foundation
import RondoTestSupport
import Testing

/// Every Swift block of the documentation is compiled: it stands, line for line, in a file that the package builds.
@Suite(.offThePool) struct ExampleTextTests {
  @Test(arguments: Repository.documents + sources) func `every example is compiled as it stands`(_ file: String) throws
  {
    for example in try Self.examples(in: file) {
      #expect(
        Self.isCompiled(example), "\(file): not compiled:\n\(example.joined(separator: "\n"))")
    }
  }

  @Test func `an example that nobody compiles is noticed`() {
    #expect(!Self.isCompiled(["let nobody = compilesThis()"]))
  }

  @Test func `every product has a catalogue, whose first page is named like it`() throws {
    for product in try Repository.text("Package.swift").matches(of: /\.library\(name: "(\w+)"/).map(\.1) {
      let catalogue = "\(product)/\(product).docc/\(product).md"
      let page = try #require(["Sources/", "Sources/Adapters/"].map { $0 + catalogue }.first(where: Repository.has))
      #expect(try Repository.lines(page).first == "# ``\(product)``")
    }
  }

  /// Sources with examples in what is said of their declarations.
  private static let sources = Repository.files(under: "Sources", ending: ".swift").filter {
    (try? Repository.text($0).contains("/// ```swift")) ?? false
  }

  /// The Swift blocks of a file, without what they import. A manifest is not among them: `ReadmeTests` has it.
  private static func examples(in file: String) throws -> [[String]] {
    var examples: [[String]] = []
    var example: [String]?
    for line in try Repository.lines(file).map(file.hasSuffix(".swift") ? uncommented : { $0 }) {
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

  /// What stands behind the three strokes of a comment; nothing for code.
  private static func uncommented(_ line: String) -> String {
    let line = line.drop { $0 == " " }
    return line.hasPrefix("/// ") ? String(line.dropFirst(4)) : ""
  }

  // MARK: - What is compiled

  private static let compiled: [[String]] = Repository.files(
    under: "Sources", "Tests", "Benchmarks/Sources", "Benchmarks/Tests", ending: ".swift"
  ).filter {
    // A script.
    $0 != "Sources/Tools/pictures.swift"
  }.compactMap { try? Repository.lines($0) }

  /// Where each line stands, without its indent.
  private static let places: [Substring: [(file: Int, line: Int)]] = {
    var places: [Substring: [(Int, Int)]] = [:]
    for (file, lines) in compiled.enumerated() {
      for (number, line) in lines.enumerated() where !line.isEmpty {
        places[line.drop { $0 == " " }, default: []].append((file, number))
      }
    }
    return places
  }()

  /// Whether some file has the lines of `example` one after the other, all indented alike.
  private static func isCompiled(_ example: [String]) -> Bool {
    guard let first = example.first else { return true }
    return places[first.drop { $0 == " " }, default: []].contains { file, line in
      let code = compiled[file]
      guard line + example.count <= code.count, code[line].count >= first.count else { return false }
      let indent = String(repeating: " ", count: code[line].count - first.count)
      return zip(code[line...], example).allSatisfy { $0 == ($1.isEmpty ? "" : indent + $1) }
    }
  }
}
