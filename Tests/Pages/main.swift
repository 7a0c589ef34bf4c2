// Makes the documentation a site that opens from the file system, without a server: `make docs`.
//
//   pages REPOSITORY GRAPHS SITE    GRAPHS has a folder of symbol graphs for each module

import Foundation

let arguments = CommandLine.arguments.dropFirst().map { URL(filePath: $0) }
guard arguments.count == 3 else {
  print("usage: pages REPOSITORY GRAPHS SITE")
  exit(2)
}
let (repository, graphs, site) = (arguments[0], arguments[1], arguments[2])
let files = FileManager.default

/// A Markdown file of the repository, and the page it becomes, both from their roots.
struct Article {
  let file: String
  let page: String
  var module: String? { file.hasPrefix("Sources/") ? String(file.split(separator: "/")[1]) : nil }
  var folder: String { String(file.prefix(upTo: file.lastIndex(of: "/") ?? file.startIndex)) }
  var name: String { String(file.split(separator: "/").last!.dropLast(3)) }
}

func articles() throws -> [Article] {
  let modules = try files.contentsOfDirectory(atPath: repository.appending(path: "Sources").path).sorted()
  let catalogues = modules.flatMap { module -> [Article] in
    let folder = "Sources/\(module)/\(module).docc"
    let names = (try? files.contentsOfDirectory(atPath: repository.appending(path: folder).path).sorted()) ?? []
    return names.filter { $0.hasSuffix(".md") }.map { name in
      let page = name == "\(module).md" ? "index.html" : "\(name.dropLast(3)).html"
      return Article(file: "\(folder)/\(name)", page: "\(module)/\(page)")
    }
  }
  return [Article(file: "README.md", page: "index.html")] + catalogues + [
    Article(file: "Benchmarks/README.md", page: "Benchmarks/index.html"),
    Article(file: "Benchmarks/Figures.md", page: "Benchmarks/Figures.html"),
  ]
}

let all = try articles()
let modules = all.filter { $0.page.hasSuffix("/index.html") }.compactMap(\.module)
let declared = try modules.flatMap { module -> [Symbol] in
  let folder = graphs.appending(path: module)
  return files.fileExists(atPath: folder.path) ? try symbols(in: folder) : []
}

// MARK: - Links

/// What leads from one page to another, both from the root of the site.
func relative(_ target: String, from page: String) -> String {
  String(repeating: "../", count: page.count { $0 == "/" }) + target
}

nonisolated(unsafe) var unresolved: Set<String> = []

func symbolPage(_ link: String, in module: String?) -> String? {
  var parts = link.replacing(/-\(.*$/, with: "").split(separator: "/").map(String.init)
  // What tells overloads and kinds apart is lost here: the first of them is meant.
  parts[parts.count - 1] = parts[parts.count - 1].replacing(/-[a-z0-9.]+$/, with: "")
  let meant = parts.count > 1 && modules.contains(parts[0]) ? Array(parts.dropFirst()) : parts
  if meant.isEmpty || modules.contains(meant[0]) { return "\(meant.first ?? parts[0])/index.html" }
  let named = declared.filter { Array($0.path.suffix(meant.count)) == meant }
  let symbol =
    named.first { $0.path == meant && $0.module == module } ?? named.first { $0.module == module } ?? named.first
  return symbol.map { "\($0.module)/\($0.page)#\($0.anchor)" }
}

func markdown(on page: String, of article: Article?, module: String?) -> Markdown {
  Markdown { link in
    switch link {
    case .symbol(let name):
      let found = symbolPage(name, in: module)
      if found == nil, declared.contains(where: { $0.module == module }) { unresolved.insert("\(page): \(name)") }
      return found.map { relative($0, from: page) }
    case .article(let name, let heading):
      let target = all.first { $0.module == module && $0.name == name }
      if target == nil { unresolved.insert("\(page): \(name)") }
      return target.map { relative($0.page, from: page) + (heading.map { "#\($0.lowercased())" } ?? "") }
    case .picture(let name):
      let folder = article?.folder ?? ""
      let path = name.contains(".") ? name : "Resources/\(name).svg"
      return relative(copied((folder.isEmpty ? "" : folder + "/") + path), from: page)
    case .file(let path):
      let parts = path.split(separator: "#", omittingEmptySubsequences: false).map(String.init)
      if parts[0].isEmpty { return path }
      let file = normal((article?.folder ?? "") + "/" + parts[0])
      let target = all.first { $0.file == file }?.page ?? copied(file)
      return relative(target, from: page) + (parts.count > 1 ? "#\(parts[1].lowercased())" : "")
    }
  }
}

/// A path without `..` and empty parts.
func normal(_ path: String) -> String {
  path.split(separator: "/").reduce(into: [Substring]()) { parts, part in
    if part == ".." { parts.removeLast() } else { parts.append(part) }
  }.joined(separator: "/")
}

/// Puts a file of the repository that is no page beside the pages.
func copied(_ file: String) -> String {
  let target = site.appending(path: "files/\(file)")
  let source = repository.appending(path: file)
  guard files.fileExists(atPath: source.path) else {
    unresolved.insert(file)
    return file
  }
  try? files.createDirectory(at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
  try? files.removeItem(at: target)
  try? files.copyItem(at: source, to: target)
  return "files/\(file)"
}

// MARK: - Pages

let style = """
  :root { color-scheme: light dark; --line: #8884; --code: #8882; --link: light-dark(#0b57a4, #7fb7f5) }
  body { margin: 0; display: flex; font: 16px/1.5 system-ui, sans-serif }
  nav { width: 15em; flex: none; padding: 1em; border-right: 1px solid var(--line); font-size: 14px }
  nav ul { list-style: none; padding-left: 1em; margin: 0 0 .6em }
  main { max-width: 52em; padding: 1em 2em 6em; min-width: 0; flex: 1 }
  a { color: var(--link); text-decoration: none } a:hover { text-decoration: underline }
  code, pre { font: 13.5px/1.45 ui-monospace, monospace } code { background: var(--code); padding: 0 .2em }
  pre { background: var(--code); padding: .8em 1em; overflow-x: auto } pre code { background: none; padding: 0 }
  table { border-collapse: collapse; margin: 1em 0; display: block; overflow-x: auto }
  th, td { border: 1px solid var(--line); padding: .25em .6em; text-align: left; vertical-align: top }
  .right { text-align: right } img { max-width: 100%; background: #fff }
  h3[id], h4[id] { scroll-margin-top: 1em } .member { border-top: 1px solid var(--line); padding-top: .4em }
  input { width: 100%; font: inherit; padding: .4em; box-sizing: border-box }
  @media (max-width: 50em) { body { display: block } nav { width: auto; border: 0 } }
  """

func write(_ page: String, title: String, _ body: String) throws {
  let entries = modules.map { module -> String in
    let own = all.filter { $0.module == module && !$0.page.hasSuffix("/index.html") }
    let list = own.map { "<li><a href=\"\(relative($0.page, from: page))\">\($0.name)</a></li>" }.joined()
    return "<li><a href=\"\(relative("\(module)/index.html", from: page))\"><b>\(module)</b></a><ul>\(list)</ul></li>"
  }
  let nav = """
    <nav><p><a href="\(relative("index.html", from: page))"><b>Rondo: README</b></a><br>
    <a href="\(relative("symbols.html", from: page))">All symbols</a></p><ul>\(entries.joined(separator: "\n"))</ul>
    <p><a href="\(relative("Benchmarks/index.html", from: page))">Benchmarks</a></p></nav>
    """
  let html = """
    <!doctype html><html lang="en"><head><meta charset="utf-8"><title>\(Markdown.escaped(title))</title>
    <meta name="viewport" content="width=device-width"><style>\(style)</style></head>
    <body>\(nav)<main>\(body)</main></body></html>
    """
  let target = site.appending(path: page)
  try files.createDirectory(at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
  try Data(html.utf8).write(to: target)
}

func link(_ symbol: Symbol, from page: String) -> String {
  let target = relative("\(symbol.module)/\(symbol.page)#\(symbol.anchor)", from: page)
  return "<a href=\"\(target)\"><code>\(Markdown.escaped(symbol.name))</code></a>"
}

/// The first sentence of what is said of a symbol.
func summary(_ symbol: Symbol, _ markdown: Markdown) -> String {
  markdown.html(symbol.comment.components(separatedBy: "\n\n")[0])
    .replacing("<p>", with: "").replacing("</p>", with: "")
}

for article in all {
  let text = try String(contentsOf: repository.appending(path: article.file), encoding: .utf8)
  var body = markdown(on: article.page, of: article, module: article.module).html(text)
  if let module = article.module, article.page == "\(module)/index.html" {
    let types = declared.filter { $0.module == module && $0.isType }.sorted { $0.name < $1.name }
    let pages = Set(declared.filter { $0.module == module }.map(\.page)).subtracting(types.map(\.page)).sorted()
    body += "<h2 id=\"reference\">Reference</h2><ul>"
    body += types.map { "<li>\(link($0, from: article.page))</li>" }.joined(separator: "\n")
    body += pages.map {
      "<li><a href=\"\($0)\">\($0 == "functions.html" ? "Functions" : "What \(module) adds to <code>\($0.dropFirst(5).dropLast(5))</code>")</a></li>"
    }.joined()
    body += "</ul>"
  }
  try write(article.page, title: article.name == "README" ? "Rondo" : article.name, body)
}

for (place, members) in Dictionary(grouping: declared, by: { "\($0.module)/\($0.page)" }) {
  let module = members[0].module
  let markdown = markdown(on: place, of: nil, module: module)
  let own = members.first { $0.isType }
  let title =
    own?.name
    ?? (place.hasSuffix("functions.html")
      ? "Functions of \(module)" : members[0].path.dropLast().joined(separator: "."))
  var body = "<p>\(module)</p><h1 id=\"\(own?.anchor ?? "")\">\(Markdown.escaped(title))</h1>"
  if let own { body += "<pre><code>\(Markdown.escaped(own.declaration))</code></pre>" + markdown.html(own.comment) }
  let nested = declared.filter { $0.isType && $0.module == module && Array($0.path.dropLast()) == own?.path }
  if !nested.isEmpty {
    body += "<h2>Types</h2><ul>" + nested.map { "<li>\(link($0, from: place))</li>" }.joined() + "</ul>"
  }
  for member in members.filter({ !$0.isType }).sorted(by: { $0.anchor < $1.anchor }) {
    body += "<div class=\"member\"><h3 id=\"\(member.anchor)\">\(Markdown.escaped(member.path.last!))</h3>"
    body += "<pre><code>\(Markdown.escaped(member.declaration))</code></pre>\(markdown.html(member.comment))</div>"
  }
  try write(place, title: title, body)
}

let rows = declared.sorted { ($0.name, $0.module) < ($1.name, $1.module) }.map {
  "<li>\(link($0, from: "symbols.html")) <small>\($0.module)</small></li>"
}
let filter = """
  <h1>All symbols</h1><input placeholder="filter" autofocus oninput="const w = this.value.toLowerCase();
  for (const l of document.querySelectorAll('main li')) l.hidden = !l.textContent.toLowerCase().includes(w)">
  """
try write("symbols.html", title: "Rondo: all symbols", filter + "<ul>\(rows.joined(separator: "\n"))</ul>")

guard unresolved.isEmpty else {
  print("Links that lead nowhere:\n\(unresolved.sorted().joined(separator: "\n"))")
  exit(1)
}
print("The site: \(site.appending(path: "index.html").path)")
