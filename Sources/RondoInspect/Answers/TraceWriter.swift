internal import CRondoInspect
import Glibc
import Rondo

/// A trace as Chrome's trace events, which Perfetto reads: on each loop's thread its turns, in a turn its phases, in a
/// phase its callouts; sleeps between turns; and an arrow from each post and signal to its callout.
struct TraceWriter {
  private let loops: [(name: String, thread: Int32)]
  private let process = JSON.number(Int64(getpid()))
  private var written = "{\"traceEvents\":["
  private var names: [UInt64: String] = [:]
  /// By thread: the runs that are nested in each other, the outermost first.
  private var runs: [Int32: [Run]] = [:]

  /// What is open in a run.
  private struct Run {
    /// Nil between turns, and in one that has not called out yet.
    var turn: UInt64?
    /// The kind of the callouts of the phase that is under way.
    var phase: UInt8?
    /// When its last callout ended.
    var lastEnd: Int64 = 0
  }

  /// Bytes of a trace, or a little more: some 20,000 turns. Chosen, so that who is asked has the memory and the time.
  static let limit = 8 << 20

  /// - Parameters:
  ///   - lost: How many events are missing. Those that come after `limit` are missing as well, and the trace says so.
  /// - Returns: JSON, with a line feed at the end.
  static func text(_ events: [rondo_event], of loops: [(name: String, thread: Int32)], lost: UInt64) -> String {
    var writer = TraceWriter(loops: loops)
    writer.nameThreads()
    var left = events[...]
    while let event = left.first, writer.written.utf8.count < limit {
      writer.write(event)
      left.removeFirst()
    }
    writer.endAll()
    writer.written += "],\"displayTimeUnit\":\"ns\",\"otherData\":"
    JSON.members(["lost": .number(Int64(clamping: lost &+ UInt64(left.count)))]).write(to: &writer.written)
    writer.written += "}\n"
    return writer.written
  }

  private mutating func append(_ event: JSON) {
    if written.utf8.last != UInt8(ascii: "[") { written += "," }
    event.write(to: &written)
  }

  private init(loops: [(name: String, thread: Int32)]) {
    self.loops = loops
  }

  private mutating func nameThreads() {
    for (name, thread) in loops {
      append(
        .members([
          "ph": .string("M"), "name": .string("thread_name"), "pid": process, "tid": .number(Int64(thread)),
          "args": .members(["name": .string(name)]),
        ]))
    }
  }

  private mutating func write(_ event: rondo_event) {
    let thread = event.thread
    switch event.what {
    case UInt8(rondo_callout_begins.rawValue):
      open(event)
      begin(thread, event.time, name(of: event.label), Names.text(ofKind: UInt64(event.kind)))
      runs[thread, default: [Run()]].append(Run())
      if event.flow != 0 { flow(event, "f") }
    case UInt8(rondo_sleep_begins.rawValue):
      closeTurn(thread)
      begin(thread, event.time, "sleep", "wait")
      runs[thread, default: [Run()]].append(Run())
    case UInt8(rondo_callout_ends.rawValue), UInt8(rondo_sleep_ends.rawValue):
      // What was under way when the trace began ends without a beginning, and is left out.
      guard let depth = runs[thread]?.count, depth > 1 else { return }
      closeTurn(thread)
      runs[thread]!.removeLast()
      runs[thread]![depth - 2].lastEnd = event.time
      let reason = event.reason == 255 ? nil : JSON.string(Names.text(ofReason: event.reason))
      end(thread, event.time, reason.map { .members(["reason": $0]) })
    case UInt8(rondo_posted.rawValue):
      post(event)
      flow(event, "s")
    case UInt8(rondo_flow_ends.rawValue): flow(event, "f")
    default: break
    }
  }

  // MARK: - Turns and phases

  /// Opens the turn and the phase of a callout that begins, unless they are open.
  private mutating func open(_ event: rondo_event) {
    let thread = event.thread
    var run = runs[thread, default: [Run()]].removeLast()
    if run.turn != nil, run.turn != event.turn { close(&run, thread) }
    if run.turn == nil {
      run.turn = event.turn
      begin(thread, event.time, "turn", "turn", .members(["turn": .number(Int64(clamping: event.turn))]))
    }
    if run.phase != event.kind {
      if run.phase != nil { end(thread, run.lastEnd) }
      run.phase = event.kind
      begin(thread, event.time, Self.phase(of: event.kind), "phase")
    }
    runs[thread, default: []].append(run)
  }

  /// Closes what is open in a thread's innermost run, at the end of its last callout.
  private mutating func closeTurn(_ thread: Int32) {
    guard var run = runs[thread]?.popLast() else { return }
    close(&run, thread)
    runs[thread]!.append(run)
  }

  private mutating func close(_ run: inout Run, _ thread: Int32) {
    if run.phase != nil { end(thread, run.lastEnd) }
    if run.turn != nil { end(thread, run.lastEnd) }
    (run.phase, run.turn) = (nil, nil)
  }

  /// The turns whose callouts have ended. What is under way when the trace ends stays open, as the format allows.
  private mutating func endAll() {
    for (thread, open) in runs where open.count == 1 { closeTurn(thread) }
  }

  /// What the callouts of a kind belong to. Blocks and jobs, and the moments of observers, come more than once in a turn.
  private static func phase(of kind: UInt8) -> String {
    switch CalloutKind(rawValue: kind) {
    case .observer: "observers"
    case .timer, .timeout: "timers"
    case .source: "sources"
    case .descriptor: "descriptors"
    case .block: "blocks"
    case .job: "jobs"
    case .mainQueue: "main queue"
    case nil: "others"
    }
  }

  private mutating func name(of label: UInt64) -> String {
    if let known = names[label] { return known }
    let name = Names.text(of: Label(word: label))
    names[label] = name
    return name
  }

  // MARK: - Events

  private mutating func begin(
    _ thread: Int32, _ time: Int64, _ name: String, _ category: String, _ arguments: JSON? = nil
  ) {
    append(
      .members([
        "ph": .string("B"), "name": .string(name), "cat": .string(category), "ts": .thousandths(time), "pid": process,
        "tid": .number(Int64(thread)), "args": arguments,
      ]))
  }

  private mutating func end(_ thread: Int32, _ time: Int64, _ arguments: JSON? = nil) {
    append(
      .members([
        "ph": .string("E"), "ts": .thousandths(time), "pid": process, "tid": .number(Int64(thread)),
        "args": arguments,
      ]))
  }

  private mutating func post(_ event: rondo_event) {
    let loop = Int(event.loop) < loops.count ? loops[Int(event.loop)].name : ""
    append(
      .members([
        "ph": .string("X"), "name": .string("post to \(loop)"), "cat": .string("post"),
        "ts": .thousandths(event.time), "dur": .thousandths(1), "pid": process, "tid": .number(Int64(event.thread)),
      ]))
  }

  private mutating func flow(_ event: rondo_event, _ phase: String) {
    append(
      .members([
        "ph": .string(phase), "bp": phase == "f" ? .string("e") : nil, "id": .string(String(event.flow, radix: 16)),
        "name": .string("post"), "cat": .string("post"), "ts": .thousandths(event.time), "pid": process,
        "tid": .number(Int64(event.thread)),
      ]))
  }
}
