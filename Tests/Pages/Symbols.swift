import Foundation

/// What a module declares, from the symbol graphs of the compiler.
struct Symbol {
  let module: String
  /// Its name behind those of the types around it.
  let path: [String]
  let kind: String
  let declaration: String
  let comment: String

  /// Whether it has a page of its own.
  var isType: Bool { ["class", "struct", "enum", "protocol", "actor"].contains(kind) }
  var name: String { path.joined(separator: ".") }
  /// Its place among others of its name.
  var anchor: String { path.last!.filter { !$0.isWhitespace } }

  /// The page that says it, in the folder of its module: its own, that of the type around it, or the module's functions.
  var page: String {
    let type = isType ? path : path.dropLast()
    return type.isEmpty ? "functions.html" : "type-\(type.joined(separator: ".")).html"
  }
}

/// The symbol graphs in a folder, by module.
func symbols(in folder: URL) throws -> [Symbol] {
  struct Graph: Decodable {
    struct Entry: Decodable {
      struct Kind: Decodable { let identifier: String }
      struct Fragment: Decodable { let spelling: String }
      struct Comment: Decodable {
        struct Line: Decodable { let text: String }
        let module: String?
        let lines: [Line]
      }
      let kind: Kind
      let pathComponents: [String]
      let declarationFragments: [Fragment]?
      let docComment: Comment?
      let accessLevel: String
    }
    struct Module: Decodable { let name: String }
    let module: Module
    let symbols: [Entry]
  }
  let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".symbols.json") }
  return try files.sorted().flatMap { file -> [Symbol] in
    let graph = try JSONDecoder().decode(Graph.self, from: Data(contentsOf: folder.appending(path: file)))
    return graph.symbols.compactMap { entry -> Symbol? in
      let kind = entry.kind.identifier.replacing("swift.", with: "")
      guard ["public", "open"].contains(entry.accessLevel), kind != "extension" else { return nil }
      // What comes from a library's protocol, and not from here, has its comment there.
      let comment = entry.docComment.flatMap { $0.module.map { $0.hasPrefix("Rondo") } ?? true ? $0 : nil }
      return Symbol(
        module: String(file.prefix { $0 != "@" && $0 != "." }), path: entry.pathComponents, kind: kind,
        declaration: (entry.declarationFragments ?? []).map(\.spelling).joined(),
        comment: comment?.lines.map(\.text).joined(separator: "\n") ?? "")
    }
  }
}
