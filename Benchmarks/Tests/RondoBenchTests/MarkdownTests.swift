import ArgumentParser
import Testing

@testable import rondo_bench

@Suite struct MarkdownTests {
  @Test func `The summary shows of each family the row in which Rondo does worst`() {
    let report = Report.sample([
      ("wake.a", "raw", "p50", 1), ("wake.a", "libuv", "p50", 4), ("wake.a", "rondo", "p50", 2),
      ("wake.b", "libuv", "p50", 4), ("wake.b", "libev", "p50", 3), ("wake.b", "rondo", "p50", 6),
      ("post.a", "nio", "median", 10), ("post.a", "rondo", "median", 1), ("post.a", "rondo.precise", "median", 99),
    ])
    let rows = Markdown(report: report).summary.split(separator: "\n")
    #expect(
      rows.dropFirst(2) == [
        "| wakes | `wake.b` | ns |  | libev 3 | 6 | 2.00 |", "| posts | `post.a` | ns |  | SwiftNIO 10 | 1 | 0.10 |",
      ])
  }

  @Test func `Every workload belongs to one family`() {
    for workload in Workloads.all {
      let families = Markdown.families.filter { $0.1.contains { workload.name.hasPrefix($0) } }
      #expect(families.count == 1, "\(workload.name)")
    }
  }

  @Test func `The page marks a row in which a peer is ahead, and gives variants rows of their own`() {
    let report = Report.sample([
      ("a", "raw", "p50", 2), ("a", "glib", "p50", 3), ("a", "rondo", "p50", 4), ("a", "rondo.timeout", "p50", 3),
    ])
    let page = Markdown(report: report).page
    #expect(page.contains("\n| ! a | ns | 2 |  |  |  | 3 |  |  |  |  | 4 | 2.00 | GLib |\n"))
    #expect(page.contains("\n| a (Timeout) | ns | 2 |  |  |  | 3 |  |  |  |  | 3 | 1.50 |  |\n"))
  }

  @Test func `Publishing replaces what stands between the marks, and says where there are none`() throws {
    let text = "before\n<!-- figures: begin -->\nold\n<!-- figures: end -->\nafter\n"
    let new = try RondoBench.Publish.replacing(in: text, by: "new")
    #expect(new == "before\n<!-- figures: begin -->\n\nnew\n\n<!-- figures: end -->\nafter\n")
    #expect(throws: ValidationError.self) { try RondoBench.Publish.replacing(in: "before", by: "new") }
  }
}
