import Foundation
import RondoTestSupport
import Testing

/// The page of the public names, which is made from the sources: `make names UPDATE=1`.
///
/// Names that CFRunLoop and Foundation have given, and the C API, are documented elsewhere.
@Suite(.offThePool) struct PublicNamesTests {
  private static let page = ".github/PublicNames.md"
  private static let given = ["RondoC", "RondoCF", "RondoCoreFoundation", "RondoFoundation"]
  /// The most declarations, counted by line. It only shrinks, to 800 at last, unless a product is new: RondoNIO,
  /// RondoHTTP, RondoHummingbird and RondoTLS's certificates brought 57.
  private static let limit = 955

  /// The declarations by product.
  private static let products = Result {
    try Repository.files(under: "Sources", ending: ".swift").reduce(into: [:]) { products, file in
      let folders = file.split(separator: "/").dropFirst().map(String.init)
      let product = folders[0] == "Adapters" ? folders[1] : folders[0]
      guard product.hasPrefix("Rondo"), !given.contains(product) else { return }
      products[product, default: []] += try PublicDeclaration.all(in: Repository.lines(file))
    } as [String: [PublicDeclaration]]
  }

  @Test func `the page has every public name with its sentence`() throws {
    let text = Self.text(try Self.products.get())
    if ProcessInfo.processInfo.environment["UPDATE"]?.isEmpty == false {
      try Data(text.utf8).write(to: Repository.root.appending(path: Self.page))
    }
    let (old, new) = try (Repository.lines(Self.page), text.components(separatedBy: "\n"))
    #expect(new.difference(from: old).isEmpty, "The page lacks a change. Write it by `make names UPDATE=1`.")
  }

  @Test func `every public name has a comment`() throws {
    // Cases on one line explain each other.
    let bare = try Self.products.get().values.joined().filter { $0.comment.isEmpty && $0.names.count < 2 }
    #expect(bare.map { "\($0.container): \($0.text)" } == [])
  }

  @Test func `there are no more public declarations than before`() throws {
    #expect(try Self.count(Self.products.get()) <= Self.limit)
  }

  @Test func `names are read with their labels and types`() {
    let source = """
      /// One.
      public struct A: Sendable {
        /// Two. Three.
        public func f<T: P<Int>>(_ x: (Int) -> Void, by y: [Int: Int] = [:]) -> Int {
          let hidden = 1
        }
        public let high, low: UInt64
        public init?(
          _ text: String, in zone: Zone = .utc
        ) throws(E) {
        }
        enum Hidden {
          case no
        }
        public enum B {
          case yes, both(Int, of: Int)
        }
      }
      extension A.C {
        @MainActor public var d: Int { 1 }
      }
      """
    let found = PublicDeclaration.all(in: source.components(separatedBy: "\n"))
    let names = found.map { "\($0.container) \(($0.type.map { [$0] } ?? $0.names).joined(separator: " "))" }
    #expect(names == [" A", "A f(_:by:)", "A high low", "A init?(_:in:)", "A B", "A.B yes both(_:of:)", "A.C d"])
    #expect(found[1].sentence == "Two.")
  }

  private static func count(_ products: [String: [PublicDeclaration]]) -> Int {
    products.values.joined().count(where: \.isMarked)
  }

  // MARK: - The page

  private static func text(_ products: [String: [PublicDeclaration]]) -> String {
    var text = """
      # Public names

      This page is for readers who look up a name, and for reviewers of a change to the API. It has every public name
      except those of CFRunLoop, Foundation and the C API, each with the first sentence of its comment. By line,
      \(count(products)) declarations are public. A test makes the page from the sources: `make names UPDATE=1`.

      """
    for (product, declarations) in products.sorted(by: { $0.key < $1.key }) where !declarations.isEmpty {
      text += "\n## \(product)\n"
      var leads: [String: String] = [:]
      var rows: [String: Set<String>] = [:]
      for declaration in declarations {
        let sentence = declaration.sentence.replacing("``", with: "`").replacing("|", with: "\\|")
        if let type = declaration.type {
          let path = declaration.container.isEmpty ? type : "\(declaration.container).\(type)"
          leads[path] = sentence
        } else {
          let names = declaration.names.map { "`\($0)`" }.joined(separator: ", ")
          rows[declaration.container, default: []].insert(sentence.isEmpty ? "- \(names)" : "- \(names): \(sentence)")
        }
      }
      for path in Set(leads.keys).union(rows.keys).sorted() {
        if !path.isEmpty { text += "\n### \(path)\n" }
        if let lead = leads[path], !lead.isEmpty { text += "\n\(lead)\n" }
        if let rows = rows[path] { text += "\n\(rows.sorted().joined(separator: "\n"))\n" }
      }
    }
    return text
  }
}
