/// A Swift file: the types and functions that the file declares, and the types that it names.
struct SwiftFile {
  let path: String
  let lineCount: Int
  /// Types by their full names, as `Loop.Timer.Tick`; true if another module can name the type.
  private(set) var types: [String: Bool] = [:]
  private(set) var functions: [Function] = []
  private var uses: Set<Use> = []
  /// Names of generic parameters: each hides a type of the same name.
  private var parameters: Set<String> = []
  private let tokens: [String]

  struct Function {
    /// The name with its labels, as `enter(_:_:)`.
    let name: String
    let callsOut: Bool
    let body: Range<Int>
  }

  /// A chain of type names, as `Loop` and `Timer`, and the type whose braces it is in.
  private struct Use: Hashable {
    let scope: [String]
    let chain: [String]
  }

  init(path: String, text: String) {
    self.path = path
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    lineCount = lines.count - 1
    let lexer = SwiftLexer(text)
    tokens = lexer.tokens
    scan(lines, lexer.lines)
  }

  private mutating func scan(_ lines: [Substring], _ lineOfToken: [Int]) {
    var scopes: [[String]] = [[]]
    var opening: [String]?
    var index = 0
    while index < tokens.count - 1 {
      let word = tokens[index]
      if word == "{" {
        scopes.append(opening ?? scopes.last!)
        opening = nil
      } else if word == "}", scopes.count > 1 {
        scopes.removeLast()
      } else if ["struct", "class", "enum", "protocol", "actor", "typealias"].contains(word), isType(index + 1) {
        let name = scopes.last! + [tokens[index + 1]]
        types[name.joined(separator: ".")] = !Set(tokens[max(0, index - 2)..<index]).isDisjoint(with: [
          "public", "package",
        ])
        if word != "typealias" { opening = name }
        index += 1
        noteParameters(after: index)
      } else if word == "extension", isType(index + 1) {
        let chain = chain(at: index + 1)
        opening = chain
        if chain != ["Loop"] { uses.insert(Use(scope: [], chain: chain)) }
        index += 2 * chain.count - 1
      } else if word == "func" {
        noteParameters(after: index + 1)
        let line = lineOfToken[index]
        let head = lines[..<line].reversed().prefix { $0.contains(/^ *(\/\/\/|@)/) }
        functions.append(function(at: index, callsOut: head.contains { $0.contains("Calls out") }))
      } else if isType(index), index == 0 || tokens[index - 1] != "." {
        let chain = chain(at: index)
        uses.insert(Use(scope: scopes.last!, chain: chain))
        index += 2 * (chain.count - 1)
      }
      index += 1
    }
  }

  private func isType(_ index: Int) -> Bool { tokens[index].first!.isUppercase }

  private func chain(at index: Int) -> [String] {
    var end = index + 1
    while end + 1 < tokens.count, tokens[end] == ".", isType(end + 1) { end += 2 }
    return stride(from: index, to: end, by: 2).map { tokens[$0] }
  }

  /// Whether a static constant of the file is of this type.
  func hasStaticConstant(of type: String) -> Bool {
    tokens.indices.dropLast(4).contains { index in
      tokens[index] == "static" && tokens[index + 1] == "let" && tokens[index + 4] == type
    }
  }

  /// The types of `homes` that the file names, except its own.
  func names(among homes: [String: String]) -> Set<String> {
    Set(uses.filter { !parameters.contains($0.chain[0]) }.compactMap { Self.resolve($0, homes) }).subtracting(
      types.keys)
  }

  /// Finds a name as the compiler does: in the innermost scope that has it.
  private static func resolve(_ use: Use, _ homes: [String: String]) -> String? {
    var scope = use.scope
    while true {
      var name = (scope + use.chain.prefix(1)).joined(separator: ".")
      if homes[name] != nil {
        for member in use.chain.dropFirst() where homes["\(name).\(member)"] != nil { name += ".\(member)" }
        return name
      }
      if scope.popLast() == nil { return nil }
    }
  }

  private mutating func noteParameters(after name: Int) {
    guard name + 1 < tokens.count, tokens[name + 1] == "<" else { return }
    for index in name + 2..<tokens.count {
      if tokens[index] == ">" { return }
      if ["<", ","].contains(tokens[index - 1]) { parameters.insert(tokens[index]) }
    }
  }

  // MARK: - Functions

  private func function(at index: Int, callsOut: Bool) -> Function {
    let open = tokens[index...].firstIndex(of: "(") ?? index
    let (labels, end) = labels(at: open, isDeclaration: true)
    // A requirement of a protocol has no body.
    let start = tokens[end...].firstIndex { ["{", "}", "func", "var", "init"].contains($0) } ?? end
    let body = tokens[start] == "{" ? start..<self.end(of: start) : start..<start
    return Function(name: tokens[index + 1] + labels, callsOut: callsOut, body: body)
  }

  /// The calls in a range of tokens, as `enter(_:_:)`.
  func calls(in range: Range<Int>) -> [String] {
    range.filter { tokens[$0 + 1] == "(" && tokens[$0].first!.isLetter }.map {
      tokens[$0] + labels(at: $0 + 1, isDeclaration: false).text
    }
  }

  /// The tokens of a function from one token to the next other one.
  func part(of name: String, from first: String, to last: String) -> Range<Int>? {
    guard let body = functions.first(where: { $0.name.hasPrefix("\(name)(") })?.body,
      let start = tokens[body].firstIndex(of: first), let end = tokens[start..<body.upperBound].firstIndex(of: last)
    else { return nil }
    return start..<end
  }

  /// The labels of a list of parameters or arguments, as `(_:until:)`, and the index after it.
  private func labels(at open: Int, isDeclaration: Bool) -> (text: String, end: Int) {
    let end = end(of: open)
    var text = ""
    var depth = 0
    for index in open..<end - 1 {
      if "([{".contains(tokens[index]) { depth += 1 }
      if ")]}".contains(tokens[index]) { depth -= 1 }
      guard depth == 1, index == open || tokens[index] == ",", index + 2 < end else { continue }
      text += isDeclaration || tokens[index + 2] == ":" ? "\(tokens[index + 1]):" : "_:"
    }
    return ("(\(text))", end)
  }

  /// The index after the bracket that closes the one at `open`.
  private func end(of open: Int) -> Int {
    var depth = 0
    for index in open..<tokens.count {
      if "([{".contains(tokens[index]) { depth += 1 }
      if ")]}".contains(tokens[index]) { depth -= 1 }
      if depth == 0 { return index + 1 }
    }
    return tokens.count
  }
}

/// The words and marks of Swift code, and their lines. Comments are left out, and a string literal is one mark.
struct SwiftLexer {
  private(set) var tokens: [String] = []
  private(set) var lines: [Int] = []
  private let text: [Unicode.Scalar]
  private var index = 0
  private var line = 0

  init(_ text: String) {
    self.text = Array(text.unicodeScalars) + ["\n", "\n", "\n"]
    while index < self.text.count - 3 { step() }
  }

  private mutating func step() {
    let start = index
    switch (text[index], text[index + 1]) {
    case ("/", "/"): while text[index] != "\n" { index += 1 }
    case ("/", "*"): while index < text.count - 3, (text[index], text[index + 1]) != ("*", "/") { index += 1 }
    case ("\"", _), ("#", "\""), ("#", "#"):
      skipString()
      append("\"")
    case (" ", _), ("\n", _), ("`", _): index += 1
    default:
      while Self.isWord(text[index]) { index += 1 }
      if index == start { index += 1 }
      append(String(String.UnicodeScalarView(text[start..<index])))
    }
    line += text[start..<index].count { $0 == "\n" }
  }

  private mutating func append(_ token: String) {
    tokens.append(token)
    lines.append(line)
  }

  private static func isWord(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "0"..."9", "_": true
    default: false
    }
  }

  /// Skips a literal with the literals in its interpolations.
  private mutating func skipString() {
    let start = index
    while text[index] == "#" { index += 1 }
    let pounds = index - start
    let quotes = text[index + 1] == "\"" && text[index + 2] == "\"" ? 3 : 1
    index += quotes
    while index < text.count - 3 {
      if text[index] == "\\", text[index + 1..<index + 1 + pounds].allSatisfy({ $0 == "#" }) {
        index += 1 + pounds
        if text[index] == "(" { skipInterpolation() } else { index += 1 }
      } else if text[index..<index + quotes].allSatisfy({ $0 == "\"" }),
        text[index + quotes..<min(text.count, index + quotes + pounds)].allSatisfy({ $0 == "#" })
      {
        index += quotes + pounds
        return
      } else {
        index += 1
      }
    }
  }

  private mutating func skipInterpolation() {
    var depth = 0
    repeat {
      if text[index] == "(" { depth += 1 }
      if text[index] == ")" { depth -= 1 }
      if text[index] == "\"" { skipString() } else { index += 1 }
    } while depth > 0 && index < text.count - 3
  }
}
