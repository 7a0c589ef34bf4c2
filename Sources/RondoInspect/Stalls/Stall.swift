public import Rondo

/// A callout that has kept its loop for longer than a limit. What it is, where it is, and what holds it up.
public struct Stall: Sendable, CustomStringConvertible {
  /// What the loop is called.
  public let loop: String
  /// The kernel's number and name of its thread.
  public let thread: Int32
  public let threadName: String
  /// What the loop was doing.
  public let phase: Loop.Heartbeat.Phase
  /// How many runs are nested in each other.
  public let depth: Int
  /// The callouts under way, the innermost last. None if the loop is stuck outside of callouts: where an item joins or
  /// leaves a mode, or where something dies.
  public let callouts: [Callout]
  /// How long it has lasted at least. Counted from the moment it was seen first, not from its beginning.
  public let duration: Duration
  /// Whether this reports the end; `duration` is then all that was seen of it.
  public let isOver: Bool
  /// What the thread does: it runs, or is blocked. Of the end: what it did when the stall was reported.
  public let activity: ThreadActivity
  /// The thread's stack, the innermost function first. Looks up symbols when it is first asked for: some 0.2 s.
  ///
  /// Empty where the thread could not be looked at.
  public var stack: [StackFrame] { trace.frames }
  let trace: StackTrace
  /// How many stalls since the report before were not reported. There is at most one report a second.
  public let unreported: Int

  /// A callout under way.
  public struct Callout: Sendable, Hashable, CustomStringConvertible {
    /// "timer", "descriptor", "source", "observer", "timeout", "block", "main queue" or "job".
    public let kind: String
    /// What the item is called, or the code of a block or a job. Looks up a symbol for code.
    public var name: String { Names.text(of: label) }
    let label: Label
    /// Of a descriptor source.
    public let descriptor: CInt?

    public var description: String {
      (name == "?" ? kind : "\(kind) \(name)") + (descriptor.map { " (descriptor \($0))" } ?? "")
    }

    var json: JSON {
      .members([
        "kind": .string(kind), "name": .string(name), "descriptor": JSON.optional(descriptor.map(Int64.init)),
      ])
    }
  }

  /// One line.
  public var description: String {
    let what = callouts.last.map { "\($0)" } ?? "its own work"
    let place = "\(loop) (thread \(thread), \(phase))"
    let nesting = depth > 1 ? ", in \(depth) nested runs" : ""
    let milliseconds = "\(duration.milliseconds) ms"
    let more = unreported > 0 ? "; \(unreported) not reported before it" : ""
    if isOver { return "rondo: loop \(place) is free again: \(what) took at least \(milliseconds)" }
    return "rondo: loop \(place) is stuck for at least \(milliseconds) in \(what)\(nesting), \(activity)\(more)"
  }

  /// The line, and the stack below it.
  public var report: String {
    ([description] + lines).joined(separator: "\n")
  }

  /// The stack, a line for each function.
  var lines: [String] { stack.map { "    \($0)" } }

  public var json: JSON {
    .members([
      "loop": .string(loop), "thread": .number(Int64(thread)), "threadName": .string(threadName),
      "phase": .string("\(phase)"), "depth": .number(Int64(depth)), "callouts": .array(callouts.map(\.json)),
      "nanoseconds": .number(duration.nanoseconds), "isOver": .bool(isOver), "activity": .string("\(activity)"),
      "unreported": .number(Int64(unreported)), "stack": .array(stack.map(\.json)),
    ])
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
