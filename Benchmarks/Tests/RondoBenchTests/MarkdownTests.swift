import ArgumentParser
import Testing

@testable import rondo_bench

@Suite struct MarkdownTests {
  @Test func `The summary shows of each family Rondo's best, median and worst row against the best peer`() {
    let report = Report.sample([
      ("wake.a", "raw", "p50", 1), ("wake.a", "libuv", "p50", 4), ("wake.a", "rondo", "p50", 2),
      ("wake.b", "libuv", "p50", 4), ("wake.b", "libev", "p50", 3), ("wake.b", "rondo", "p50", 6),
      ("wake.c", "libev", "p50", 5), ("wake.c", "rondo", "p50", 5),
      ("post.a", "nio", "median", 10), ("post.a", "rondo", "median", 1), ("post.a", "rondo.precise", "median", 99),
    ])
    let rows = Markdown(report: report).summary.split(separator: "\n")
    #expect(
      rows == [
        "| family | a row is | rows | best | median | worst |", "| --- | --- | --: | --- | --- | --- |",
        "| wakes | a thread wakes another's loop | 3 | 0.50 × libuv, `wake.a` | 1.00 × libev, `wake.c` | 2.00 × libev, `wake.b` |",
        "| posts | one block for a loop | 1 | 0.10 × SwiftNIO, `post.a` | 0.10 × SwiftNIO, `post.a` | 0.10 × SwiftNIO, `post.a` |",
      ])
  }

  @Test func `Of two rows the worse is the median, and the summary of every family has at most twelve lines`() {
    let report = Report.sample(
      Markdown.families.flatMap { _, _, prefixes in
        ["a", "b"].flatMap { name in
          [
            ("\(prefixes[0]).\(name)", "libuv", "p50", 10),
            ("\(prefixes[0]).\(name)", "rondo", "p50", name == "a" ? 5.0 : 20.0),
          ]
        }
      })
    let lines = Markdown(report: report).summary.split(separator: "\n")
    #expect(lines.count == Markdown.families.count + 2 && lines.count <= 12)
    #expect(
      lines.dropFirst(2).first
        == "| wakes | a thread wakes another's loop | 2 | 0.50 × libuv, `wake.a` | 2.00 × libuv, `wake.b` | 2.00 × libuv, `wake.b` |"
    )
  }

  @Test func `A family says in five words at most what its rows are`() {
    for (family, row, _) in Markdown.families {
      #expect((1...5).contains(row.split(separator: " ").count), "\(family)")
    }
  }

  @Test func `Every workload belongs to one family`() {
    for workload in Workloads.all {
      let families = Markdown.families.filter { $0.2.contains { workload.name.hasPrefix($0) } }
      #expect(families.count == 1, "\(workload.name)")
    }
  }

  @Test func `The page marks a row in which a peer is ahead, and gives variants rows of their own`() {
    let report = Report.sample([
      ("a", "raw", "p50", 2), ("a", "glib", "p50", 3), ("a", "rondo", "p50", 4), ("a", "rondo.timeout", "p50", 3),
    ])
    let page = Markdown(report: report).page
    #expect(page.contains("\n| ! a | ns | 2 |  |  |  | 3 |  |  |  |  |  |  |  | 4 | 2.00 | GLib |\n"))
    #expect(page.contains("\n| a (Timeout) | ns | 2 |  |  |  | 3 |  |  |  |  |  |  |  | 3 | 1.50 |  |\n"))
  }

  @Test func `The page shows precise timers beside their limits, with the tail and what a fire costs`() {
    var report = Report.sample([
      ("timer.lateness.1ms", "raw", "p50", 50_000), ("timer.lateness.1ms", "rondo.precise", "p50", 900),
      ("timer.lateness.1ms", "rondo.precise", "p90", 1000), ("timer.lateness.1ms", "rondo.precise", "p99", 2000),
      ("timer.lateness.1ms", "rondo.precise", "p99.9", 3000), ("timer.lateness.1ms", "rondo.precise", "max", 4000),
      ("timer.lateness.1ms", "rondo.precise", "cpu/fire", 80_000), ("timer.lateness.1ms", "rondo.precise", "missed", 1),
      ("timer.lateness.1ms", "raw.spin", "p50", 50), ("timer.lateness.1ms", "libuv", "p50", 700_000),
      ("turn.poll", "raw.spin", "p50", 50),
    ])
    report.refusals = [
      .init(workload: "timer.lateness.1ms", subject: "raw.fifo", text: "cannot: SCHED_FIFO is not permitted"),
      .init(workload: "turn.poll", subject: "raw.fifo", text: "cannot: is no loop"),
    ]
    let page = Markdown(report: report).page
    #expect(
      page.contains(
        """
        | workload | subject | median | p90 | p99 | p99.9 | max | processor time | missed |
        | --- | --- | --: | --: | --: | --: | --: | --: | --: |
        | timer.lateness.1ms | raw | 50000 |  |  |  |  |  |  |
        | timer.lateness.1ms | raw.spin | 50 |  |  |  |  |  |  |
        | timer.lateness.1ms | rondo.precise | 900 | 1000 | 2000 | 3000 | 4000 | 80000 | 1 |

        - `raw.fifo` in `timer.lateness.1ms`: cannot: SCHED_FIFO is not permitted

        ## The bars
        """))
  }

  @Test func `A page without precise and coalesced timers has no section of them`() {
    let page = Markdown(report: .sample([("turn.poll", "raw", "p50", 1), ("turn.poll", "rondo", "p50", 2)])).page
    #expect(
      !page.contains("Precise timers") && !page.contains("Coalesced timers") && page.contains(" |\n\n## The bars"))
  }

  @Test func `The page shows coalesced timers with their waits and lateness, whichever of the figures is the headline`()
  {
    func figures(_ workload: String, _ subject: String, _ values: [(String, Double)]) -> [(
      String, String, String, Double
    )] {
      values.map { ("timer.coalesce.\(workload)", subject, $0, $1) }
    }
    var report = Report.sample(
      figures("100.10", "rondo", [("median", 9), ("cpu/fire", 700), ("optimum", 8), ("late", 60), ("late.max", 90)])
        + figures("10000.0", "glib", [("median", 500), ("waits", 11), ("optimum", 10), ("late", 70), ("late.max", 80)]))
    report.refusals = [
      .init(workload: "timer.coalesce.10000.0", subject: "libev", text: "cannot: is 600 us late: it sleeps"),
      .init(workload: "timer.coalesce.10000.0", subject: "raw", text: "cannot: keeps no timers"),
    ]
    let page = Markdown(report: report).page
    #expect(
      page.contains(
        """
        | workload | subject | waits/s | optimum | late, median | late, worst | processor time |
        | --- | --- | --: | --: | --: | --: | --: |
        | timer.coalesce.100.10 | rondo | 9 | 8 | 60 | 90 | 700 |
        | timer.coalesce.10000.0 | glib | 11 | 10 | 70 | 80 | 500 |

        - `libev` in `timer.coalesce.10000.0`: cannot: is 600 us late: it sleeps

        ## The bars
        """))
  }

  @Test func `Publishing replaces what stands between the marks, and says where there are none`() throws {
    let text = "before\n<!-- figures: begin -->\nold\n<!-- figures: end -->\nafter\n"
    let new = try RondoBench.Publish.replacing(in: text, by: "new")
    #expect(new == "before\n<!-- figures: begin -->\n\nnew\n\n<!-- figures: end -->\nafter\n")
    #expect(throws: ValidationError.self) { try RondoBench.Publish.replacing(in: "before", by: "new") }
  }

  @Test func `Only a full run with every workload is published`() throws {
    var report = Report.sample(Workloads.all.map { ($0.name, "rondo", "p50", 1) })
    #expect(throws: ValidationError.self) { try RondoBench.Publish.check(report) }
    report.environment.effort = "full"
    try RondoBench.Publish.check(report)
    report.results.removeLast()
    #expect(throws: ValidationError.self) { try RondoBench.Publish.check(report) }
  }
}
