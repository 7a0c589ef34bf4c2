public import Rondo

/// A report of a callout that keeps its loop for longer than a limit.
public struct Stall: Sendable, CustomStringConvertible {
  /// The name of the loop.
  public let loop: String
  /// The kernel's number of the loop's thread.
  public let thread: Int32
  /// The kernel's name of the loop's thread.
  public let threadName: String
  /// The loop's phase at the report.
  public let phase: Loop.Heartbeat.Phase
  /// The number of nested runs.
  public let depth: Int
  /// The callouts under way, the innermost last.
  ///
  /// It is empty if the loop is stuck outside of callouts: where an item joins or leaves a mode, or is freed.
  public let callouts: [Callout]
  /// The least duration, counted from when the monitor first saw the callout.
  public let duration: Duration
  /// Whether the stall has ended. `duration` is then the whole time that the monitor saw.
  public let isOver: Bool
  /// The activity of the loop's thread when the stall was first reported.
  public let activity: ThreadActivity
  /// The stack of the loop's thread, the innermost function first.
  ///
  /// The first access looks up symbols, which takes some 0.2 s. The stack is empty if the thread could not be sampled,
  /// and in the report of the end.
  public var stack: [StackFrame] { trace.frames }
  let trace: StackTrace
  /// The number of stalls not reported since the previous report.
  ///
  /// A monitor reports at most one stall a second.
  public let unreported: Int

  /// A callout under way.
  public struct Callout: Sendable, Hashable, CustomStringConvertible {
    /// "timer", "descriptor", "source", "observer", "timeout", "block", "main queue" or "job".
    public let kind: String
    /// The item's name, or the function of a block or job.
    ///
    /// It looks up a symbol for a function.
    public var name: String { Names.text(of: label) }
    let label: Label
    /// The descriptor of a descriptor source; nil for other kinds.
    public let descriptor: CInt?

    /// The kind, the name and the descriptor of the callout.
    public var description: String {
      (name == "?" ? kind : "\(kind) \(name)") + (descriptor.map { " (descriptor \($0))" } ?? "")
    }

    var json: JSON {
      .members([
        "kind": .string(kind), "name": .string(name), "descriptor": JSON.optional(descriptor.map(Int64.init)),
      ])
    }
  }

  /// The report in one line.
  public var description: String {
    let what = callouts.last.map { "\($0)" } ?? "its own work"
    let place = "\(loop) (thread \(thread), \(phase))"
    let nesting = depth > 1 ? ", in \(depth) nested runs" : ""
    let milliseconds = "\(duration.milliseconds) ms"
    let more = unreported > 0 ? "; \(unreported) not reported before it" : ""
    if isOver { return "rondo: loop \(place) is free again: \(what) took at least \(milliseconds)" }
    return "rondo: loop \(place) is stuck for at least \(milliseconds) in \(what)\(nesting), \(activity)\(more)"
  }

  /// The line of `description`, and the stack below it.
  public var report: String {
    ([description] + lines).joined(separator: "\n")
  }

  /// The stack, a line for each function.
  var lines: [String] { stack.map { "    \($0)" } }

  /// The stall as a line of JSON.
  public var json: String {
    JSON.members([
      "loop": .string(loop), "thread": .number(Int64(thread)), "threadName": .string(threadName),
      "phase": .string("\(phase)"), "depth": .number(Int64(depth)), "callouts": .array(callouts.map(\.json)),
      "nanoseconds": .number(duration.nanoseconds), "isOver": .bool(isOver), "activity": .string("\(activity)"),
      "unreported": .number(Int64(unreported)), "stack": .array(stack.map(\.json)),
    ]).text
  }
}

extension Duration {
  var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, isTooMuch) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    return isTooMuch ? (seconds < 0 ? .min : .max) : product + attoseconds / 1_000_000_000
  }

  fileprivate var milliseconds: Int64 { nanoseconds / 1_000_000 }
}
