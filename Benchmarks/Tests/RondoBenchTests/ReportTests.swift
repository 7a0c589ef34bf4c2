import Foundation
import Testing

@testable import rondo_bench

@Suite struct ReportTests {
  @Test func `A report survives its file`() throws {
    var report = Report.sample([("turn", "raw", "p50", 1.5), ("turn", "rondo", "p50", 3)])
    report.refusals = [.init(workload: "turn", subject: "libuv", text: "absent: install libuv1-dev")]
    report.curves = [.init(workload: "turn", subject: "raw", points: [.init(percent: 50, nanoseconds: 1.5)])]
    let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).json").path
    defer { try? FileManager.default.removeItem(atPath: file) }
    try report.write(to: file)
    #expect(try Report(contentsOf: file) == report)
  }

  @Test func `A file with nothing but environment and results is a report`() throws {
    let text = """
      {"environment": {"kernel": "6", "cpus": 1, "processor": "p", "clocksource": "tsc", "load": 0, "swift": "6",
        "build": "release", "effort": "quick", "date": "today"},
       "results": [{"workload": "w", "subject": "s", "metric": "p50", "unit": "ns", "value": 1, "samples": 2}]}
      """
    let report = try JSONDecoder().decode(Report.self, from: Data(text.utf8))
    #expect(report.results.count == 1)
    #expect(report.refusals.isEmpty)
  }

  @Test func `A file that is missing or no report is named, and so is what it lacks`() throws {
    #expect(throws: Report.Flaw(description: "/nowhere.json cannot be read.")) {
      try Report(contentsOf: "/nowhere.json")
    }
    let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).json").path
    defer { try? FileManager.default.removeItem(atPath: file) }
    try Data("{}".utf8).write(to: URL(fileURLWithPath: file))
    #expect(throws: Report.Flaw(description: "\(file) is no report: it has no 'environment'.")) {
      try Report(contentsOf: file)
    }
  }

  @Test func `Rondo loses to a peer that is below it, not to the limit or to its own variant`() {
    let report = Report.sample([
      ("a", "raw", "p50", 1), ("a", "libuv", "p50", 2), ("a", "rondo", "p50", 3), ("a", "rondo.precise", "p50", 1),
      ("b", "raw", "median", 1), ("b", "libuv", "median", 4), ("b", "rondo", "median", 3),
    ])
    let boards = Scoreboard.all(of: report)
    #expect(boards.map(\.workload) == ["a", "b"])
    #expect(boards[0].rows.filter(\.isLosing).map(\.subject) == ["rondo"])
    #expect(boards[0].rows.first { $0.subject == "rondo" }?.notes == ["BEHIND libuv"])
    #expect(boards[1].rows.filter(\.isLosing).isEmpty)
  }

  @Test func `The table and the page have a column for one in a thousand, empty where there are fewer times`() {
    let report = Report.sample([("a", "rondo", "p50", 1), ("a", "rondo", "p99.9", 77), ("b", "rondo", "p50", 2)])
    let boards = Scoreboard.all(of: report)
    #expect(boards.map { $0.rows[0].p999 } == [77, nil] && boards[0].rows[0].notes.isEmpty)
    let lines = Table(scoreboards: boards).text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
    #expect(lines[0][6] == "p99.9" && lines[1][6] == "77" && lines[2][6] == "-")
    #expect(Page(report).text.contains("<th>p99</th><th>p99.9</th>"))
  }

  @Test func `Three subjects that refuse for one reason have one line in the table, two a line each`() {
    var report = Report.sample([("a", "rondo", "p50", 1)])
    func refuse(_ subjects: [String], _ text: String) {
      report.refusals += subjects.map { Report.Note(workload: "a", subject: $0, text: text) }
    }
    refuse(["libuv", "glib", "libev"], "cannot: has no such server")
    refuse(["raw", "sd-event"], "cannot: has no turns")
    let lines = Table(scoreboards: Scoreboard.all(of: report)).text.split(separator: "\n")
    let refusals = lines.filter { $0.contains("cannot") }.map {
      $0.split(separator: " ").dropFirst().joined(separator: " ")
    }
    #expect(
      Set(refusals) == [
        "(3 subjects) - - - - - - cannot: has no such server", "raw - - - - - - cannot: has no turns",
        "sd-event - - - - - - cannot: has no turns",
      ])
    #expect(refusals.count == 3 && lines.count == 5)
  }

  @Test func `A peer that is ahead by less than a hundredth is level`() {
    let report = Report.sample([("a", "libuv", "p50", 99.5), ("a", "libev", "p50", 98.5), ("a", "rondo", "p50", 100)])
    #expect(Scoreboard.ahead(in: report, "a") == ["libev"])
  }

  @Test func `The page marks the rows that lose, and only those`() {
    let losing = Page(.sample([("a", "libuv", "p50", 2), ("a", "rondo", "p50", 3)])).text
    #expect(losing.contains("<tr class=\"losing\"><td>a</td><td>rondo</td>"))
    #expect(losing.contains("<code>a</code>: behind libuv"))
    let winning = Page(.sample([("a", "libuv", "p50", 4), ("a", "rondo", "p50", 3)])).text
    #expect(winning.contains("<tr class=\"ours\"><td>a</td><td>rondo</td>"))
    #expect(!winning.contains("<tr class=\"losing\"><td>a</td>"))
  }

  @Test func `The page needs nothing beside it and shows what is absent`() {
    var report = Report.sample([("a", "rondo", "p50", 3)])
    report.refusals = [.init(workload: "a", subject: "libuv", text: "absent: install <libuv1-dev>")]
    let page = Page(report).text
    #expect(page.contains("absent: install &lt;libuv1-dev&gt;"))
    for outside in ["://", "src=", "<link", "<script", "url("] { #expect(!page.contains(outside)) }
  }

  @Test func `A plot on log axes puts a decade as far as the next`() {
    let plot = Plot(
      title: "t", xTitle: "x", yTitle: "y",
      series: [.init(name: "rondo", points: [(x: 1, y: 1), (x: 10, y: 10), (x: 100, y: 100), (x: 0, y: 5)])])
    // 446 units across and 286 up, in two steps each; the point at zero has no place.
    #expect(plot.svg.contains("points=\"64.0,316.0 287.0,173.0 510.0,30.0\""))
  }

  @Test func `A bar is met at its limit, missed beyond it, and unknown without figures`() throws {
    let bar = Bar.ratio("turn.descriptor", to: "raw", atMost: 1.5, "a turn")
    func verdict(_ value: Double) -> Bar.Verdict {
      let workload = "turn.descriptor"
      return bar.verdict(in: .sample([(workload, "raw", "median", 2), (workload, "rondo", "median", value)]))
    }
    #expect(verdict(3) == .met)
    #expect(verdict(3.1) == .missed)
    #expect(bar.verdict(in: .sample([])) == .unknown)
    #expect(Bar.all.allSatisfy { $0.verdict(in: .sample([])) == .unknown })
  }

  @Test func `Being best of all is measured against the best peer, not against the limit`() {
    let bar = Bar.best("w", "best")
    let report = Report.sample([
      ("w", "raw", "p50", 1), ("w", "libuv", "p50", 4), ("w", "libev", "p50", 3), ("w", "rondo", "p50", 2),
    ])
    #expect(bar.value(in: report) == 2.0 / 3)
  }
}
