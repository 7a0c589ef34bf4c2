/// Answers in words, for a terminal of 120 columns.
enum View {
  static func text(_ report: Answer.Report) -> String {
    Printable.line("\(report.program), process \(report.process)") + "\n"
      + report.loops.map { "\n" + text($0) }.joined()
      + (report.servers ?? []).map { "\n" + text($0) }.joined()
  }

  private static func text(_ server: Answer.Server) -> String {
    let most = server.mostConnections.map { " of \($0)" } ?? ""
    var lines = [
      "server \(server.name): \(server.state), connections \(server.connections)\(most), accepted \(server.accepted), "
        + "requests \(server.requests)"
    ]
    let met = server.limits.filter { $0.value > 0 }.sorted { $0.key < $1.key }
    if !met.isEmpty { lines.append("  limits met: " + met.map { "\($0.key) \($0.value)" }.joined(separator: ", ")) }
    return lines.map(Printable.line).joined(separator: "\n") + "\n"
  }

  private static func text(_ loop: Answer.Loop) -> String {
    var lines = [heading(loop)]
    for callout in loop.callouts { lines.append("  in \(text(callout))") }
    if !loop.hasAnswered { lines.append("  does not answer: what is in it is not known at present") }
    lines.append("  turns \(count(loop, "turns")), sleeps \(count(loop, "sleeps")), \(callouts(loop))")
    lines.append("  mailed: \(loop.mailed.changes) changes, \(loop.mailed.blocks) blocks, \(loop.mailed.jobs) jobs")
    if let queues = loop.queues { lines.append("  queued: \(queues.blocks) blocks, \(queues.jobs) jobs") }
    if let timeouts = loop.timeouts, timeouts.all > 0 {
      lines.append("  timeouts: \(timeouts.all), armed \(timeouts.armed)")
    }
    lines += loop.contents.map { "  \($0)" }
    if !loop.wakers.isEmpty { lines.append("  wakers") }
    for waker in loop.wakers.prefix(10) { lines.append("    \(text(waker))") }
    for savable in loop.savable.prefix(5) {
      lines.append(
        "  a tolerance of \(time(savable.tolerance)) saves \(savable.count) of the last wakeups by \(savable.name)")
    }
    lines += table(loop.measures)
    for finding in loop.audit ?? [] { lines.append("  ! \(finding)") }
    return lines.map(Printable.line).joined(separator: "\n") + "\n"
  }

  static func text(_ stack: Answer.Stack) -> String {
    var lines = ["loop \(stack.loop), thread \(stack.thread): \(stack.activity)"]
    for callout in stack.callouts { lines.append("  in \(text(callout))") }
    for frame in stack.stack {
      let place = frame.file.map { " at \($0):\(frame.line ?? 0)" } ?? ""
      let mark = frame.guess == true ? "?" : " "
      lines.append("  \(mark) \(frame.function ?? frame.address)" + (frame.image.map { " in \($0)" } ?? "") + place)
    }
    if stack.stack.isEmpty { lines.append("    no stack could be taken") }
    return lines.map(Printable.line).joined(separator: "\n") + "\n"
  }

  /// One screen of the live view.
  static func screen(_ now: Answer.Report, since last: Answer.Report?, milliseconds: Int) -> String {
    var lines = ["\(now.program), process \(now.process), every \(milliseconds) ms. Ctrl-C ends.", ""]
    lines.append(
      columns([("loop", 20), ("phase", 12), ("turns/s", -10), ("wakeups/s", -10), ("callouts/s", -11), ("cpu", -6)]))
    for loop in now.loops {
      let before = last?.loops.first { $0.thread == loop.thread && $0.name == loop.name }
      func rate(_ names: [String]) -> String {
        guard let before else { return "" }
        let difference = names.reduce(Int64(0)) { sum, name in
          sum + Int64(clamping: loop.statistics[name] ?? 0) - Int64(clamping: before.statistics[name] ?? 0)
        }
        return String(difference * 1_000 / Int64(milliseconds))
      }
      let share = before.flatMap { before in
        loop.processorTime.flatMap { time in
          before.processorTime.map { "\((time - $0) / (Int64(milliseconds) * 10_000)) %" }
        }
      }
      lines.append(
        columns([
          (loop.name, 20), (loop.hasAnswered ? loop.phase : "\(loop.phase)!", 12), (rate(["turns"]), -10),
          (rate(["sleeps"]), -10),
          (
            rate(calloutCounters), -11
          ),
          (share ?? "", -6),
        ]))
      for callout in loop.callouts where !loop.hasAnswered { lines.append("  stuck in \(text(callout))") }
    }
    for loop in now.loops where !loop.wakers.isEmpty || !loop.measures.isEmpty {
      lines += ["", loop.name]
      for waker in loop.wakers.prefix(5) { lines.append("  \(text(waker))") }
      lines += table(Array(loop.measures.prefix(10)))
    }
    return lines.map(Printable.line).joined(separator: "\n") + "\n"
  }

  // MARK: - Parts

  private static let calloutCounters = [
    "timer_callouts", "source_callouts", "descriptor_callouts", "block_callouts", "main_queue_callouts", "job_callouts",
    "observer_callouts",
  ]

  private static func heading(_ loop: Answer.Loop) -> String {
    var text = "loop \(loop.name), thread \(loop.thread)"
    if let name = loop.threadName, name != loop.name { text += " (\(name))" }
    text += ": \(loop.phase)"
    if let mode = loop.mode { text += " in \(mode)" }
    if loop.depth > 1 { text += ", \(loop.depth) nested runs" }
    return text + ", \(loop.activity)"
  }

  private static func count(_ loop: Answer.Loop, _ name: String) -> UInt64 { loop.statistics[name] ?? 0 }

  private static func callouts(_ loop: Answer.Loop) -> String {
    let parts = calloutCounters.compactMap { name -> String? in
      let value = count(loop, name)
      return value == 0 ? nil : "\(value) \(name.replacing("_callouts", with: "").replacing("_", with: " "))"
    }
    return "callouts: " + (parts.isEmpty ? "none" : parts.joined(separator: ", "))
  }

  private static func text(_ callout: Answer.Callout) -> String {
    "\(callout.kind) \(callout.name)" + (callout.descriptor.map { " (descriptor \($0))" } ?? "")
  }

  private static func text(_ waker: Answer.Waker) -> String {
    let what = waker.kind.map { "\($0) \(waker.name ?? "")" } ?? "nothing that called out"
    return columns([
      ("\(waker.wakeups)", -6), ("\((waker.perSecond * 10).rounded() / 10)/s", -10), (" \(waker.reason): \(what)", 0),
    ])
  }

  private static func table(_ measures: [Answer.Measures]) -> [String] {
    guard !measures.isEmpty else { return [] }
    var lines = [
      columns([
        ("  measured", 44), ("callouts", -10), ("ready p50", -11), ("p99", -9), ("run p50", -9), ("p99", -9),
        ("max", -9),
      ])
    ]
    for one in measures.prefix(30) {
      lines.append(
        columns([
          ("  \(one.kind) \(one.name)", 44), ("\(one.callouts)", -10),
          (one.ready.count > 0 ? time(one.ready.p50) : "", -11), (one.ready.count > 0 ? time(one.ready.p99) : "", -9),
          (time(one.run.p50), -9), (time(one.run.p99), -9), (time(one.run.max), -9),
        ]))
    }
    return lines
  }

  /// Each in its width; a negative one is to the right.
  private static func columns(_ cells: [(String, Int)]) -> String {
    cells.map { text, width in
      let room = abs(width)
      if room == 0 { return text }
      let short = text.count > room - 1 && width > 0 ? String(text.prefix(room - 2)) + "…" : text
      let blanks = String(repeating: " ", count: max(0, room - short.count))
      return width > 0 ? short + blanks : blanks + short
    }.joined()
  }

  private static func time(_ nanoseconds: Int64) -> String {
    switch nanoseconds.magnitude {
    case ..<1_000: return "\(nanoseconds) ns"
    case ..<1_000_000: return decimal(nanoseconds, 1_000, "us")
    case ..<1_000_000_000: return decimal(nanoseconds, 1_000_000, "ms")
    default: return decimal(nanoseconds, 1_000_000_000, "s")
    }
  }

  private static func decimal(_ value: Int64, _ unit: Int64, _ name: String) -> String {
    let tenths = (value * 10 + unit / 2) / unit
    return tenths % 10 == 0 || tenths >= 1_000 ? "\(tenths / 10) \(name)" : "\(tenths / 10).\(tenths % 10) \(name)"
  }
}
