import Foundation

/// As much of Markdown as the project's documentation has, as HTML.
struct Markdown {
  /// Where a link leads: nil leaves its text alone.
  enum Link {
    case file(String)
    case article(String, heading: String?)
    case symbol(String)
    case picture(String)
  }
  let resolve: (Link) -> String?

  static func escaped(_ text: some StringProtocol) -> String {
    String(text).replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
  }

  /// A heading's anchor, as links name it.
  static func anchor(_ heading: some StringProtocol) -> String {
    heading.lowercased().filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" }.replacing(" ", with: "-")
  }

  func html(_ text: String) -> String {
    var blocks: [String] = []
    var lines = text.components(separatedBy: "\n")[...]
    while let line = lines.first {
      if line.isEmpty {
        lines.removeFirst()
      } else if line.hasPrefix("<!--") {
        while let line = lines.popFirst(), !line.contains("-->") {}
      } else if line.hasPrefix("```") {
        lines.removeFirst()
        let code = lines.prefix { !$0.hasPrefix("```") }
        lines = lines.dropFirst(code.count + 1)
        blocks.append("<pre><code>\(Markdown.escaped(code.joined(separator: "\n")))</code></pre>")
      } else if let heading = line.wholeMatch(of: /(#+) +(.*)/) {
        lines.removeFirst()
        let level = heading.1.count
        blocks.append("<h\(level) id=\"\(Markdown.anchor(heading.2))\">\(inline(heading.2))</h\(level)>")
      } else if line.hasPrefix("|") {
        let rows = lines.prefix { $0.hasPrefix("|") }
        lines = lines.dropFirst(rows.count)
        blocks.append(table(Array(rows)))
      } else if line.contains(/^(- |\d+\. )/) {
        let item = lines.prefix { !$0.isEmpty && ($0.contains(/^(- |\d+\. )/) || $0.hasPrefix(" ")) }
        lines = lines.dropFirst(item.count)
        blocks.append(list(Array(item)))
      } else {
        let paragraph = lines.prefix { !$0.isEmpty && !$0.contains(/^(```|\||#+ |- |\d+\. |<!--)/) }
        lines = lines.dropFirst(max(1, paragraph.count))
        blocks.append("<p>\(inline(paragraph.isEmpty ? line : paragraph.joined(separator: " ")))</p>")
      }
    }
    return blocks.joined(separator: "\n")
  }

  private func table(_ rows: [String]) -> String {
    func cells(_ row: String) -> [String] {
      row.trimmingCharacters(in: CharacterSet(charactersIn: "| ")).isEmpty && row.count < 4
        ? [] : row.dropFirst().dropLast(row.hasSuffix("|") ? 1 : 0).components(separatedBy: "|")
    }
    guard rows.count > 1 else { return "<p>\(inline(rows[0]))</p>" }
    let isRight = cells(rows[1]).map { $0.trimmingCharacters(in: .whitespaces).hasSuffix(":") }
    func row(_ row: String, _ tag: String) -> String {
      let columns = cells(row).enumerated().map { number, cell in
        let side = number < isRight.count && isRight[number] ? " class=\"right\"" : ""
        return "<\(tag)\(side)>\(inline(cell.trimmingCharacters(in: .whitespaces)))</\(tag)>"
      }
      return "<tr>\(columns.joined())</tr>"
    }
    let head = row(rows[0], "th")
    return "<table>\(head)\(rows.dropFirst(2).map { row($0, "td") }.joined(separator: "\n"))</table>"
  }

  /// Items, each with the lines and the items that are indented below it.
  private func list(_ lines: [String]) -> String {
    let tag = lines[0].hasPrefix("- ") ? "ul" : "ol"
    let first = tag == "ol" ? lines[0].prefix { $0.isNumber } : "1"
    var items: [[String]] = []
    for line in lines {
      if let start = line.firstMatch(of: /^(- |\d+\. )/) {
        items.append([String(line[start.range.upperBound...])])
      } else {
        items[items.count - 1].append(line)
      }
    }
    let texts = items.map { item in
      let text = item.prefix { !$0.contains(/^ +-\s/) }.map { $0.trimmingCharacters(in: .whitespaces) }
      let below = item.dropFirst(text.count)
      let indent = below.first?.prefix { $0 == " " }.count ?? 0
      let nested = below.isEmpty ? "" : list(below.map { String($0.dropFirst(indent)) })
      return "<li>\(inline(text.joined(separator: " ")))\(nested)</li>"
    }
    return "<\(tag) start=\"\(first)\">\(texts.joined(separator: "\n"))</\(tag)>"
  }

  // MARK: - Within a line

  private func inline(_ text: some StringProtocol) -> String {
    var html = ""
    var rest = String(text)[...]
    let token =
      /``(?<symbol>[^`]+)``|`(?<code>[^`]+)`|<doc:(?<article>[\w-]+)(#(?<heading>[\w-]+))?>|!\[(?<alt>[^\]]*)\]\((?<picture>[^)]+)\)|\[(?<label>[^\]]+)\]\((?<target>[^)\s]+)\)|\*\*(?<strong>[^*]+)\*\*|\*(?<soft>[^*\s][^*]*)\*/
    while let match = rest.firstMatch(of: token) {
      html += Markdown.escaped(rest[..<match.range.lowerBound])
      html += rendered(match.output)
      rest = rest[match.range.upperBound...]
    }
    return html + Markdown.escaped(rest)
  }

  private typealias Token = (
    Substring, symbol: Substring?, code: Substring?, article: Substring?, Substring?, heading: Substring?,
    alt: Substring?, picture: Substring?, label: Substring?, target: Substring?, strong: Substring?, soft: Substring?
  )

  private func rendered(_ token: Token) -> String {
    if let symbol = token.symbol {
      // What tells overloads apart, and the module, are for the machine.
      let name = symbol.replacing(/-\(.*$|-[a-z0-9.]+$/, with: "").replacing(/^Rondo\//, with: "")
      return link("<code>\(Markdown.escaped(name.replacing("/", with: ".")))</code>", resolve(.symbol(String(symbol))))
    }
    if let code = token.code { return "<code>\(Markdown.escaped(code))</code>" }
    if let article = token.article {
      return link(String(article), resolve(.article(String(article), heading: token.heading.map { String($0) })))
    }
    if let picture = token.picture {
      let source = resolve(.picture(String(picture))) ?? String(picture)
      return "<img src=\"\(source)\" alt=\"\(Markdown.escaped(token.alt ?? ""))\">"
    }
    if let target = token.target {
      return link(inline(token.label!), target.contains("://") ? String(target) : resolve(.file(String(target))))
    }
    if let strong = token.strong { return "<strong>\(inline(strong))</strong>" }
    return "<em>\(inline(token.soft!))</em>"
  }

  private func link(_ text: String, _ target: String?) -> String {
    target.map { "<a href=\"\($0)\">\(text)</a>" } ?? text
  }
}
