import Foundation

/// The files of the repository, by their paths in it.
enum Repository {
  static let root = URL(filePath: #filePath).appending(path: "../../..").standardized

  static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  static func lines(_ path: String) throws -> [String] {
    try text(path).components(separatedBy: "\n")
  }

  static func has(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: root.appending(path: path).standardized.path)
  }

  /// The files under some folders whose names end so, in order.
  static func files(under folders: String..., ending: String) -> [String] {
    folders.flatMap { folder in
      let names = FileManager.default.enumerator(atPath: root.appending(path: folder).path)?.compactMap {
        $0 as? String
      }
      return (names ?? []).filter { $0.hasSuffix(ending) }.map { "\(folder)/\($0)" }
    }.sorted()
  }

  /// The articles of all catalogues.
  static let articles = files(under: "Sources", ending: ".md").filter { $0.contains(".docc/") }

  /// The pages for contributors.
  static let contributing = files(under: ".github", ending: ".md")

  /// Everything that is written for readers.
  static let documents = ["README.md", "Benchmarks/README.md"] + contributing + articles

  /// The text of a document without what stands in code blocks.
  static func prose(_ document: String) throws -> String {
    var isCode = false
    return try lines(document).filter { line in
      if line.hasPrefix("```") {
        isCode.toggle()
        return false
      }
      return !isCode
    }.joined(separator: "\n")
  }
}
