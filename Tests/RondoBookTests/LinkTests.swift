import Foundation
import RondoTestSupport
import Testing

/// What the documentation points to is there.
@Suite(.offThePool) struct LinkTests {
  @Test(arguments: Repository.documents) func `linked files exist, and have the headings that are meant`(
    _ document: String
  )
    throws
  {
    let folder = document.contains("/") ? String(document[..<document.lastIndex(of: "/")!]) + "/" : ""
    for link in try Repository.prose(document).matches(of: /\]\(([^)\s]+)\)/).map({ String($0.1) }) {
      guard !link.hasPrefix("https://"), !link.hasPrefix("http://") else { continue }
      let parts = link.split(separator: "#", omittingEmptySubsequences: false).map(String.init)
      let target = parts[0].isEmpty ? document : folder + parts[0]
      // In a catalogue a picture goes by its name.
      let picture = folder + "Resources/\(parts[0]).svg"
      #expect(Repository.has(target) || Repository.has(picture), "\(document) links to \(link)")
      if parts.count > 1, Repository.has(target) {
        #expect(try headings(of: target).contains(parts[1].lowercased()), "\(document) links to \(link)")
      }
    }
  }

  @Test(arguments: Repository.articles) func `articles that are named exist in the same catalogue`(_ article: String)
    throws
  {
    let folder = String(article[..<article.lastIndex(of: "/")!])
    for link in try Repository.prose(article).matches(of: /<doc:([\w-]+)(?:#([\w-]+))?>/) {
      let target = "\(folder)/\(link.1).md"
      #expect(Repository.has(target), "\(link.0)")
      if let heading = link.2, Repository.has(target) {
        #expect(try headings(of: target).contains(heading.lowercased()), "\(link.0)")
      }
    }
  }

  @Test(arguments: Repository.documents) func `paths, products and targets of make that are named exist`(
    _ document: String
  )
    throws
  {
    let prose = try Repository.prose(document)
    for path in prose.matches(of: /`((?:Sources|Tests|Benchmarks)\/[\w\/.+-]+)`/).map({ String($0.1) }) {
      // The benchmarks are a package of their own.
      #expect(Repository.has(path) || Repository.has("Benchmarks/\(path)"), "\(document) names \(path)")
    }
    let products = Set(
      try Repository.text("Package.swift").matches(of: /\.library\(name: "(\w+)"/).map { String($0.1) })
    let modules = products.union(
      try Repository.text("Package.swift").matches(of: /name: "(Rondo\w+)"/).map { String($0.1) })
    for name in prose.matches(of: /`(Rondo[A-Z]\w*)`/).map({ String($0.1) }) {
      #expect(modules.contains(name), "\(document) names \(name)")
    }
    let makefile = try Repository.text("Makefile")
    for target in prose.matches(of: /`make ([a-z-]+)/).map({ String($0.1) }) {
      #expect(makefile.contains("\n\(target):"), "\(document) names make \(target)")
    }
  }

  @Test(arguments: Repository.articles) func `symbols that are linked are declared in the module or in Rondo`(
    _ article: String
  ) throws {
    let module = Self.module(of: article)
    let declared = try Self.names.get()[module, default: []].union(Self.names.get()["Rondo"]!)
    for link in try Repository.prose(article).matches(of: /``([^`]+)``/).map({ String($0.1) }) {
      // What tells overloads apart, as -(SocketSource,_), is for the documentation's compiler.
      for part in link.prefix(while: { $0 != "-" }).split(separator: "/") {
        let name = String(part.prefix { $0 != "(" })
        #expect(declared.contains(name) || name == module || name == "Rondo", "\(article) links to \(link)")
      }
    }
  }

  /// Whatever each module declares, and its cases. Cheap: the documentation's compiler knows better, in `make docs`.
  private static let names = Result {
    let modules = Set(Repository.articles.map(module))
    return try Dictionary(uniqueKeysWithValues: modules.map { ($0, try names(of: $0)) })
  }

  /// The module that the catalogue of an article belongs to.
  private static func module(of article: String) -> String {
    article.split(separator: "/").first { $0.hasSuffix(".docc") }.map { String($0.dropLast(5)) }!
  }

  private static func names(of module: String) throws -> Set<String> {
    var names: Set<String> = ["init"]
    for file in Repository.files(under: "Sources/\(module)", "Sources/Adapters/\(module)", ending: ".swift") {
      let text = try Repository.text(file)
      let pattern = /\b(?:class|struct|enum|protocol|actor|func|var|let|case|typealias)\s+`?(\w+)/
      names.formUnion(text.matches(of: pattern).map { String($0.1) })
    }
    return names
  }

  /// The headings of a document as links name them.
  private func headings(of document: String) throws -> [String] {
    try Repository.prose(document).matches(of: /(?m)^#+ +(.+)$/).map { heading in
      let kept = heading.1.lowercased().filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" }
      return kept.replacing(" ", with: "-")
    }
  }
}
