import Foundation
import RondoTestSupport
import Testing

/// What the pages for contributors, and for the index of packages, say about the code.
@Suite(.offThePool) struct ContributingTests {
  // MARK: - How the source is read

  @Test func `the folders of the source are those that the table has`() throws {
    let page = try Repository.text(".github/ReadingTheSource.md")
    let table = try #require(page.components(separatedBy: "| folder | content |").last).prefix { $0 != "*" }
    let named = table.matches(of: /(?m)^\| (`[^|]+) \|/).flatMap { $0.1.matches(of: /`(\w+)`/).map { String($0.1) } }
    let folders = Set(
      Repository.files(under: "Sources/Rondo", ending: ".swift").compactMap {
        $0.split(separator: "/").dropFirst(2).dropLast().first.map(String.init)
      })
    #expect(Set(named) == folders)
  }

  // MARK: - The floors

  @Test func `libevent is imported by one file of the core, which the page for contributors names`() throws {
    let importers = try Repository.files(under: "Sources/Rondo", ending: ".swift").filter {
      try Repository.lines($0).contains {
        $0.contains("CLibevent") && $0.contains(/^[^\/]*\bimport\b.*\bCLibevent\b/)
      }
    }
    let page = try Repository.lines(".github/CONTRIBUTING.md")
    let row = try #require(page.first { $0.hasPrefix("| `Sources/Rondo/Kernel` |") })
    let named = try #require(row.firstMatch(of: /`(\w+\.swift)` alone/))
    #expect(importers == ["Sources/Rondo/Kernel/\(named.1)"])
  }

  // MARK: - The index of packages

  @Test func `the index of packages documents every library product`() throws {
    let targets = try Repository.text(".spi.yml").matches(of: /(?m)^ +- (Rondo\w*)$/).map { String($0.1) }
    let products = try Repository.text("Package.swift").matches(of: /\.library\(name: "(\w+)"/).map { String($0.1) }
    #expect(targets == products)
  }
}
