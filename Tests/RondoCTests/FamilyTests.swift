import Foundation
import Testing

/// The table of CFRunLoop's family, compared with Core Foundation's headers and with the files that it names.
@Suite struct FamilyTests {
  private static let root = URL(filePath: #filePath).appending(path: "../../..").standardized
  private static let page = "Sources/RondoCoreFoundation/RondoCoreFoundation.docc/FunctionByFunction.md"

  private struct Row {
    let section: String
    let name: String
    let here: String
    let reason: String
  }

  private func text(_ path: String) throws -> String {
    try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
  }

  private func rows() throws -> [Row] {
    var section = ""
    var rows: [Row] = []
    for line in try text(Self.page).split(separator: "\n") {
      if line.hasPrefix("## ") { section = String(line.dropFirst(3)) }
      guard line.hasPrefix("| `") else { continue }
      let cells = line.split(separator: "|", omittingEmptySubsequences: false).map {
        $0.trimmingCharacters(in: .whitespaces)
      }
      try #require(cells.count == 5, "\(line)")
      rows.append(
        Row(section: section, name: cells[1].trimmingCharacters(in: ["`"]), here: cells[2], reason: cells[3]))
    }
    return rows
  }

  @Test func `no cell is empty, and each file that is named uses the function`() throws {
    let rows = try rows()
    #expect(rows.count > 170)
    for row in rows {
      #expect(!row.here.isEmpty && !row.reason.isEmpty, "\(row.name)")
      guard row.here != "absent" else { continue }
      let file = row.reason.trimmingCharacters(in: ["`"])
      let folder = file.hasPrefix("listings") || file.hasPrefix("idioms") ? "Sources/Examples/CFRunLoop" : "Tests"
      #expect(try text("\(folder)/\(file)").contains(word(of: row)), "\(row.name) in \(file)")
    }
  }

  /// The word that a use of a member has: its name, or its first label.
  private func word(of row: Row) -> String {
    let called = row.here.hasPrefix("`") ? row.here.trimmingCharacters(in: ["`"]) : row.name
    let parts = called.split(separator: "(", maxSplits: 1)
    let name = parts[0].split(separator: ".").last.map(String.init) ?? ""
    guard name == "init" || name.isEmpty, let labels = parts.last?.split(separator: ":"), labels.count > 1 else {
      return name == "init" ? "\(row.section.dropFirst(2))(" : name
    }
    return String(labels[0])
  }

  @Test(arguments: ["CFRunLoop", "CFMessagePort", "CFSocket"])
  func `every function of Core Foundation's header is listed`(_ header: String) throws {
    guard let declared = try coreFoundation(header) else { return }
    #expect(declared.count > 12)
    let listed = try rows().filter { $0.section == "\(header).h" }.map(\.name)
    #expect(Set(declared).subtracting(listed) == [])
    // What is called there is declared by the header here, and nothing else is.
    let own = try text("Sources/CRondoCF/include/rondo/\(header).h")
    let here = try rows().filter { $0.section == "\(header).h" && $0.here != "absent" }.map(\.name)
    let known = own.matches(of: /RONDO_CF\(\s*[^,()]+,\s*(\w+),\s*\(/).map { String($0.1) }
    #expect(here.sorted() == known.sorted())
  }

  /// The functions of a header of the toolchain's; nil where it has none.
  private func coreFoundation(_ header: String) throws -> [String]? {
    let shell = Process()
    let output = Pipe()
    shell.executableURL = URL(filePath: "/bin/sh")
    shell.arguments = ["-c", "readlink -f \"$(command -v swift)\""]
    shell.standardOutput = output
    try shell.run()
    let path = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    shell.waitUntilExit()
    let library = URL(filePath: path.trimmingCharacters(in: .newlines)).appending(
      path: "../../lib/swift/CoreFoundation")
    guard let text = try? String(contentsOf: library.appending(path: "\(header).h").standardized, encoding: .utf8)
    else { return nil }
    return text.matches(of: /CF_EXPORT[^;]*?\b(\w+)\(/).map { String($0.1) }
  }
}
