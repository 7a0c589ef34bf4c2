import Foundation

/// A declaration of the sources that other packages may use.
struct PublicDeclaration {
  /// The lines of its comment, without the slashes.
  let comment: [String]
  /// Its first line.
  let line: String
  /// Its text up to the end of its parameters.
  let text: String
  /// The types around it, joined by periods; empty outside of types.
  let container: String

  /// Whether the word is written: the case of an enum and the requirement of a protocol are as public as their type.
  var isMarked: Bool { Self.isMarked(line) }

  static func isMarked(_ line: String) -> Bool {
    // What the expression would find out slowly.
    line.contains("public ")
      && line.contains(/^(?:@\S+(?:\([^)]*\))? )*(?:nonisolated |override )*public (?!import)/)
  }

  /// The first sentence of the comment, without the rule of access before it.
  var sentence: String {
    let paragraph = comment.prefix { !$0.isEmpty }.joined(separator: " ").replacing(/^(?:\*[^*]+\* *)+/, with: "")
    guard let end = paragraph.firstRange(of: /[.!?](?= +[A-Z`*])/) else { return paragraph }
    return String(paragraph[..<end.upperBound])
  }

  /// How many words the sentence has. A name in backticks is one word.
  var wordCount: Int {
    sentence.replacing(/`[^`]*`/, with: "x").split(separator: " ").count { $0.contains { $0.isLetter || $0.isNumber } }
  }

  // MARK: - Names

  /// The type that it declares, if it declares one.
  var type: String? { Self.opened(by: text).flatMap { $0.keyword == "extension" ? nil : $0.name } }

  /// The type or extension that a line begins. Without an expression: each line of the sources is asked.
  private static func opened(by line: String) -> (keyword: String, name: String)? {
    let words = line.split(separator: " ", maxSplits: 8)
    guard let index = words.firstIndex(where: { !$0.hasPrefix("@") && !modifiers.contains(String($0)) }),
      index + 1 < words.count, keywords.contains(String(words[index]))
    else { return nil }
    let name = words[index + 1].prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." }
    return name == "func" || name == "var" || name == "let" ? nil : (String(words[index]), String(name))
  }

  private static let keywords: Set = ["class", "struct", "enum", "protocol", "actor", "extension"]
  private static let modifiers: Set = [
    "public", "package", "internal", "fileprivate", "private", "final", "indirect", "nonisolated",
  ]

  /// The names that it declares, with the labels of arguments.
  var names: [String] {
    if text.hasPrefix("case ") {
      return Self.parts(of: text.dropFirst(5)).map { part in
        let name = part.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "`" }
        return part.dropFirst(name.count).hasPrefix("(") ? name + Self.labels(in: part, isCase: true) : String(name)
      }
    }
    if let function = text.firstMatch(of: /\bfunc (`?\w+`?|[^\s\w(]+)/) {
      return [function.1 + Self.labels(in: text[function.range.upperBound...])]
    }
    if let variable = text.firstMatch(of: /\b(?:var|let) (.+)/) {
      let list = variable.1.prefix { $0 != "{" }
      return Self.parts(of: list).compactMap { $0.firstMatch(of: /^`?\w+`?/).map { String($0.0) } }
    }
    if let alias = text.firstMatch(of: /\b(?:typealias|associatedtype) (\w+)/) { return [String(alias.1)] }
    if let maker = text.firstMatch(of: /\b(?:init\??|subscript)(?=[(<])/) {
      return [maker.0 + Self.labels(in: text[maker.range.upperBound...])]
    }
    return []
  }

  /// The labels of the first parameters in a text, as in `(of:_:)`.
  private static func labels(in text: some StringProtocol, isCase: Bool = false) -> String {
    var (depth, list) = (0, "")
    for character in String(text).replacing("->", with: "") {
      if character == "<" { depth += 1 }
      if character == ">" { depth -= 1 }
      if !list.isEmpty || character == "(" && depth == 0 { list.append(character) }
      if !list.isEmpty, character == ")", list.count(where: { $0 == "(" }) == list.count(where: { $0 == ")" }) { break }
    }
    let labels = parts(of: list.dropFirst().dropLast()).map { parameter in
      let label = parameter.replacing(/^(?:@\w+ )*/, with: "").prefix { $0.isLetter || $0.isNumber || $0 == "_" }
      return isCase && !parameter.dropFirst(label.count).hasPrefix(":") ? "_:" : label + ":"
    }
    return "(\(labels.joined()))"
  }

  /// The parts of a list, between commas that are in no brackets.
  private static func parts(of list: some StringProtocol) -> [String] {
    var (depth, parts) = (0, [""])
    for character in String(list).replacing("->", with: "") {
      if "([<{".contains(character) { depth += 1 }
      if ")]>}".contains(character) { depth -= 1 }
      if character == ",", depth == 0 { parts.append("") } else { parts[parts.count - 1].append(character) }
    }
    return parts.map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
  }

  // MARK: - Sources

  /// The declarations in lines that have the project's format.
  static func all(in lines: [String]) -> [PublicDeclaration] {
    var found: [PublicDeclaration] = []
    var comment: [String] = []
    var open = 0
    var around: [(indent: Int, name: String, isEnum: Bool, isProtocol: Bool)] = []
    for (index, indented) in lines.enumerated() {
      let line = indented.trimmingCharacters(in: .whitespaces)
      if line.hasPrefix("///") {
        comment.append(String(line.dropFirst(3)).trimmingCharacters(in: .whitespaces))
        continue
      }
      // An attribute on lines of its own is between the two.
      if open > 0 || line.hasPrefix("@") && !line.contains("public ") && opened(by: line) == nil {
        open += line.count { $0 == "(" } - line.count { $0 == ")" }
        continue
      }
      defer { comment = [] }
      if line.isEmpty || line.hasPrefix("//") || line.hasPrefix("#") { continue }
      let indent = indented.prefix { $0 == " " }.count
      around.removeAll { $0.indent >= indent }
      let isMarked = isMarked(line)
      let isMember = around.last.map { $0.indent == indent - 2 } ?? false
      let isImplied =
        isMember && (around.last!.isEnum && line.hasPrefix("case ") || around.last!.isProtocol && line != "}")
      if isMarked || isImplied {
        let text = wholeText(of: lines[index...])
        let container = around.map(\.name).joined(separator: ".")
        found.append(PublicDeclaration(comment: comment, line: line, text: text, container: container))
      }
      if let type = opened(by: line) {
        let isOpen = isMarked && type.keyword != "extension"
        around.append((indent, type.name, isOpen && type.keyword == "enum", isOpen && type.keyword == "protocol"))
      }
    }
    return found
  }

  /// A declaration up to the end of its parameters, in one line.
  private static func wholeText(of lines: ArraySlice<String>) -> String {
    var text = ""
    for line in lines.prefix(30) {
      text += (text.isEmpty ? "" : " ") + line.trimmingCharacters(in: .whitespaces)
      if text.count(where: { $0 == "(" }) <= text.count(where: { $0 == ")" }) { break }
    }
    return text
  }
}
