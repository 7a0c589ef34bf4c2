/// A report as tables in Markdown: all of it for the suite's page of figures, a line for each family for the README.
struct Markdown {
  let report: Report

  // MARK: - Everything

  /// The page of figures.
  var page: String {
    """
    # Figures

    Made by `make bench-report PUBLISH=1`; nothing here is written by hand. Less is better everywhere. `× raw` is the
    median over that of raw epoll with an eventfd and a timerfd, in the same run. A row in which a peer's median is more
    than 1 % below Rondo's is marked `!`; `Timeout` and `precise` are variants of Rondo's own in the same workload. Empty:
    the subject has no such thing, was later than it was asked to be, or its time would grow with the square of the
    number. The [README](README.md) says how it is measured.

    \(report.environment.text)

    \(everything)
    \(preciseSection)\(coalescedSection)
    ## The bars

    \(bars)

    """
  }

  /// The subjects with a column, in the order of the reports, by the names of their makers.
  private static let columns = [
    ("raw", "raw"), ("libevent", "libevent"), ("libuv", "libuv"), ("libev", "libev"), ("glib", "GLib"),
    ("sd-event", "sd-event"), ("cfrunloop", "CFRunLoop"), ("dispatch", "Dispatch"), ("nio", "SwiftNIO"),
    ("nio.async", "NIOAsyncChannel"), ("hummingbird", "Hummingbird"), ("openssl", "OpenSSL"),
  ]
  /// Those of Rondo, with what their rows are called.
  private static let ours = [
    ("rondo", ""), ("rondo.timeout", " (Timeout)"), ("rondo.precise", " (precise)"), ("rondo.spin", " (spin)"),
    ("rondo.still", " (still)"),
    ("rondo.sockets", " (SocketSource)"), ("rondo.async", " (async)"), ("rondo.hummingbird", " (Hummingbird's router)"),
  ]

  private var everything: String {
    var rows = [["workload", "unit"] + Self.columns.map(\.1) + ["Rondo", "× raw", "ahead of Rondo"]]
    for workload in report.workloads {
      for (subject, suffix) in Self.ours {
        guard let figure = report.headline(workload, subject) else { continue }
        let ahead = peers(in: workload).filter { $0.value < figure.value * (1 - Scoreboard.tie) }
        let limit = report.headline(workload, Subjects.limit)?.value
        rows.append(
          [(ahead.isEmpty ? "" : "! ") + workload + suffix, figure.unit]
            + Self.columns.map { report.headline(workload, $0.0).map { Number.text($0.value) } ?? "" }
            + [Number.text(figure.value), limit.map { Number.ratio(figure.value / $0) } ?? ""]
            + [ahead.map { Self.name($0.subject) }.joined(separator: ", ")])
      }
    }
    return Self.table(rows, words: [0, 1, rows[0].count - 1])
  }

  private var bars: String {
    let rows = Bar.all.map { bar in
      [
        bar.statement, bar.value(in: report).map(Number.ratio) ?? "", Number.text(bar.limit), bar.unit,
        bar.verdict(in: report).rawValue,
      ]
    }
    return Self.table([["bar", "measured", "at most", "unit", "verdict"]] + rows, words: [0, 3, 4])
  }

  // MARK: - Precise timers

  /// Rondo's timers with the limits beside them, and the loops that are nearest to those.
  private static let precise = [
    "raw", "raw.fifo", "raw.spin", "rondo", "rondo.precise", "rondo.slice", "rondo.precise.slice", "libevent",
    "sd-event", "dispatch",
  ]

  /// A row for each subject in every workload that a precise timer ran in.
  private var preciseSection: String {
    let workloads = report.workloads.filter { report.headline($0, "rondo.precise") != nil }
    guard !workloads.isEmpty else { return "" }
    var rows = [["workload", "subject", "median", "p90", "p99", "p99.9", "max", "processor time", "missed"]]
    for workload in workloads {
      for subject in Self.precise {
        guard let figure = report.headline(workload, subject) else { continue }
        let values = ["p90", "p99", "p99.9", "max", "cpu/fire", "missed"].map { report.value(workload, subject, $0) }
        rows.append([workload, subject, Number.text(figure.value)] + values.map { $0.map(Number.text) ?? "" })
      }
    }
    let refusals = report.refusals.filter { workloads.contains($0.workload) && Self.precise.contains($0.subject) }
    return """

      ## Precise timers

      How late a repeating timer fires, and the processor time that a fire takes, in nanoseconds; the ticks missed in all
      rounds. `raw` sleeps in epoll, `raw.fifo` in clock_nanosleep(2) under SCHED_FIFO, and `raw.spin` does not sleep: no
      loop is nearer to the date than the kernel lets the one sleep and the processor the other spin. `rondo.precise`
      sleeps, then spins within its budget; `rondo.slice` asked the kernel for a short slice. A p99.9 is of 1,000 fires or
      more.

      \(Self.table(rows, words: [0, 1]))\(Self.notes(refusals))

      """
  }

  // MARK: - Coalesced timers

  /// A row for each subject in every workload of timers that may share wakes.
  private var coalescedSection: String {
    let figures = report.results.filter { result in
      result.workload.hasPrefix("timer.coalesce.") && Report.headlines.contains(result.metric)
    }
    guard !figures.isEmpty else { return "" }
    var rows = [["workload", "subject", "waits/s", "optimum", "late, median", "late, worst", "processor time"]]
    for figure in figures {
      func value(_ metric: String) -> String {
        report.value(figure.workload, figure.subject, metric).map(Number.text) ?? ""
      }
      // The headline is one of the two, and the other stands beside it.
      let headline = Number.text(figure.value)
      let countsWaits = report.value(figure.workload, figure.subject, "waits") == nil
      rows.append([
        figure.workload, figure.subject, countsWaits ? headline : value("waits"), value("optimum"), value("late"),
        value("late.max"), countsWaits ? value("cpu/fire") : headline,
      ])
    }
    let refusals = report.refusals.filter { refusal in
      refusal.workload.hasPrefix("timer.coalesce.") && refusal.text.contains(" late: ")
    }
    return """

      ## Coalesced timers

      What a loop saves by waking seldom, and what it pays: blocking waits a second beside the fewest that serve the same
      timers, how late the fires were, and the processor time that a fire takes, in nanoseconds. In
      `timer.coalesce.10000.1ms` each loop may be a millisecond late: by a tolerance, or by its own rounding.

      \(Self.table(rows, words: [0, 1]))\(Self.notes(refusals))

      """
  }

  // MARK: - A line for each family

  /// The README's table: for each family the rows with Rondo's best, median and worst ratio to the best peer.
  ///
  /// The median of an even number of rows is the worse of the two in the middle.
  var summary: String {
    let lines = Self.families.compactMap { family, row, prefixes -> [String]? in
      let own = report.workloads.filter { workload in prefixes.contains { workload.hasPrefix($0) } }
      let contests = own.compactMap { contest(in: $0) }.sorted { $0.ratio < $1.ratio }
      guard let best = contests.first, let worst = contests.last else { return nil }
      return [family, row, "\(contests.count)"] + [best, contests[contests.count / 2], worst].map(Self.text)
    }
    return Self.table([["family", "a row is", "rows", "best", "median", "worst"]] + lines, words: [0, 1, 3, 4, 5])
  }

  /// Every workload belongs to one, by how its name begins. In the middle: what a row measures, in five words.
  static let families = [
    ("wakes", "a thread wakes another's loop", ["wake"]), ("posts", "one block for a loop", ["post"]),
    ("turns", "one turn of a loop", ["turn", "mode"]),
    ("timers, when they fire", "lateness, or waits a second", ["timer.lateness", "timer.drift", "timer.coalesce"]),
    ("timers, made and freed", "one timer, for one use", ["timer.make"]),
    ("timers, started and stopped", "one timer that exists already", ["timer.start"]),
    ("descriptors", "one event among many sockets", ["fd"]),
    ("servers and datagrams", "a request and its answer", ["echo", "http", "tls", "udp"]),
    ("hops and jobs", "a call between two actors", ["hop", "job"]),
    ("memory and start", "bytes of one, a start", ["memory", "start"]),
  ]

  /// A row of Rondo's and the best peer in it.
  private struct Contest {
    var workload, peer: String
    /// Rondo's median over the peer's.
    var ratio: Double
  }

  private func contest(in workload: String) -> Contest? {
    guard let ours = report.headline(workload, Subjects.ours),
      let best = peers(in: workload).min(by: { $0.value < $1.value }), best.value > 0
    else { return nil }
    return Contest(workload: workload, peer: best.subject, ratio: ours.value / best.value)
  }

  private static func text(_ contest: Contest) -> String {
    "\(Number.ratio(contest.ratio)) × \(name(contest.peer)), `\(contest.workload)`"
  }

  // MARK: - Parts

  private func peers(in workload: String) -> [Report.Result] {
    report.results.filter { result in
      result.workload == workload && Report.headlines.contains(result.metric) && Subjects.isPeer(result.subject)
    }
  }

  private static func name(_ subject: String) -> String {
    columns.first { $0.0 == subject }?.1 ?? subject
  }

  private static func notes(_ refusals: [Report.Note]) -> String {
    let notes = refusals.map { "\n- `\($0.subject)` in `\($0.workload)`: \($0.text)" }.joined()
    return notes.isEmpty ? "" : "\n" + notes
  }

  private static func table(_ rows: [[String]], words: Set<Int>) -> String {
    let rule = rows[0].indices.map { words.contains($0) ? "---" : "--:" }
    return ([rows[0], rule] + rows.dropFirst()).map { "| " + $0.joined(separator: " | ") + " |" }
      .joined(separator: "\n")
  }
}
