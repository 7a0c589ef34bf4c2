import CLinux
import CRondoInspect
import Glibc
import Rondo

/// What a process tells of its loops and servers, as JSON.
enum Report {
  static func json(
    _ loops: [(loop: Loop, recorder: Recorder)], _ inventories: [ObjectIdentifier: Loop.Inventory]
  ) -> JSON {
    // Before symbols are looked up, which takes a while.
    let time = rondo_monotonic_now()
    return .members([
      "version": .number(1), "process": .number(Int64(getpid())), "time": .number(time),
      "program": .string(
        SystemFiles.text("/proc/self/comm", limit: 64)?.split(separator: "\n").first.map(String.init) ?? ""),
      "loops": .array(loops.map { json($0.loop, $0.recorder, inventories[ObjectIdentifier($0.loop)]) }),
      "servers": .array(ShownServers.all.map { json($0.name, $0.figures) }),
    ])
  }

  private static func json(_ name: String, _ server: ServerFigures) -> JSON {
    .members([
      "name": .string(name), "state": .string(server.isDraining ? "draining" : "serving"),
      "connections": .number(Int64(server.connections)),
      "mostConnections": JSON.optional(server.mostConnections.map { Int64($0) }),
      "accepted": .number(Int64(clamping: server.accepted)), "requests": .number(Int64(clamping: server.requests)),
      "limits": json(server.limits),
    ])
  }

  private static func json(_ loop: Loop, _ recorder: Recorder, _ inventory: Loop.Inventory?) -> JSON {
    recorder.describe(loop)
    let heartbeat = loop.heartbeat
    let wakeups = recorder.wakeups
    let mailed = loop.mailed
    return .members([
      "name": .string(loop.name), "thread": .number(Int64(loop.threadNumber)),
      "threadName": ThreadState.name(of: loop.threadNumber).map(JSON.string),
      "activity": .string("\(ThreadState.activity(of: loop.threadNumber).0)"),
      "processorTime": JSON.optional(ThreadState.processorTime(of: loop.threadNumber)),
      "phase": .string("\(heartbeat.phase)"), "depth": .number(Int64(heartbeat.depth)),
      "mode": loop.currentMode.map { .string($0.rawValue) },
      "callouts": .array(CalloutsUnderWay.read(recorder).callouts.map(\.json)),
      "hasAnswered": .bool(inventory != nil), "statistics": json(counters(loop.statistics)),
      "mailed": .members([
        "changes": .number(Int64(mailed.changes)), "blocks": .number(Int64(mailed.blocks)),
        "jobs": .number(Int64(mailed.jobs)),
      ]),
      "modes": .array(inventory.map { $0.modes.map(json) } ?? loop.modeDates.map(json)),
      "items": inventory.map { .array($0.items.map(json)) },
      "contents": .array(contents(loop, inventory).map(JSON.string)),
      "timeouts": inventory.map {
        .members(["all": .number(Int64($0.timeouts)), "armed": .number(Int64($0.armedTimeouts))])
      },
      "queues": inventory.map { .members(["blocks": .number(Int64($0.blocks)), "jobs": .number(Int64($0.jobs))]) },
      "measures": .array(recorder.measured.map(\.json)),
      "wakers": .array(WakeupSummary.wakers(wakeups).map(\.json)),
      "savable": .array(WakeupSummary.savable(wakeups).map(\.json)),
      "lastTurns": .array(wakeups.suffix(32).map(\.json)),
      "audit": inventory.map { .array(Audit.findings(loop, $0, recorder).map(JSON.string)) },
    ])
  }

  /// The first lines of `debugDescription`, with the names of functions and files.
  private static func contents(_ loop: Loop, _ inventory: Loop.Inventory?) -> [String] {
    inventory?.lines(
      now: loop.clockNanoseconds, limit: 50, name: { Names.text(of: $0) }, file: { SystemFiles.target(of: $0) })
      ?? loop.modeLines
  }

  private static func json(_ mode: Loop.Inventory.ModeEntry) -> JSON {
    .members([
      "name": .string(mode.name), "isCommon": .bool(mode.isCommon), "items": .number(Int64(mode.items)),
      "observers": .number(Int64(mode.observers)), "nextDate": JSON.optional(mode.nextDate),
    ])
  }

  private static func json(_ mode: (mode: Loop.Mode, date: Int64?)) -> JSON {
    .members(["name": .string(mode.mode.rawValue), "nextDate": JSON.optional(mode.date)])
  }

  private static func json(_ item: Loop.Inventory.ItemEntry) -> JSON {
    .members([
      "kind": .string(Names.text(ofKind: UInt64(item.kind.rawValue))), "name": .string(Names.text(of: item.label)),
      "modes": .array(item.modes.map(JSON.string)), "isCommon": item.isCommon ? .bool(true) : nil,
      "isValid": .bool(item.isValid), "order": .number(Int64(item.order)),
      "activities": item.activities.isEmpty ? nil : .string(item.activities),
      "nextDate": JSON.optional(item.nextDate), "interval": item.interval > 0 ? .number(item.interval) : nil,
      "tolerance": item.tolerance > 0 ? .number(item.tolerance) : nil,
      "isPrecise": item.isPrecise ? .bool(true) : nil,
      "descriptor": item.descriptor >= 0 ? .number(Int64(item.descriptor)) : nil,
      "file": item.descriptor >= 0 ? SystemFiles.target(of: item.descriptor).map(JSON.string) : nil,
      "interest": item.descriptor >= 0 ? .string(item.interest) : nil,
      "isSignalled": item.isSignalled ? .bool(true) : nil,
    ])
  }

  /// The counters by the names that they have in Prometheus's form, too.
  static func counters(_ statistics: Loop.Statistics) -> [(name: String, count: UInt64)] {
    [
      ("turns", statistics.turns), ("sleeps", statistics.sleeps), ("polls", statistics.polls),
      ("wakeups_by_post", statistics.wakeupsByPost), ("wakeups_by_descriptor", statistics.wakeupsByDescriptor),
      ("wakeups_by_timer", statistics.wakeupsByTimer), ("wakeups_by_timeout", statistics.wakeupsByTimeout),
      ("wakeups_by_main_queue", statistics.wakeupsByMainQueue), ("spurious_wakeups", statistics.spuriousWakeups),
      ("observer_callouts", statistics.observerCallouts), ("timer_callouts", statistics.timerCallouts),
      ("source_callouts", statistics.sourceCallouts), ("descriptor_callouts", statistics.descriptorCallouts),
      ("block_callouts", statistics.blockCallouts), ("main_queue_callouts", statistics.mainQueueCallouts),
      ("job_callouts", statistics.jobCallouts), ("missed_ticks", statistics.missedTicks),
    ]
  }

  private static func json(_ counts: [(name: String, count: UInt64)]) -> JSON {
    .object(counts.map { JSON.Member(name: $0.name, value: .number(Int64(clamping: $0.count))) })
  }
}
