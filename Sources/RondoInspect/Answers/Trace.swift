internal import CInspect
internal import CLinux
import Glibc
import Rondo
import Synchronization

/// What loops do for a while, as Chrome's trace events, which Perfetto reads: callouts and sleeps on the loops' threads,
/// and an arrow from each post and signal to its callout. One at a time in a process.
final class Trace: Sendable {
  private let loops: [(loop: Loop, recorder: Recorder)]
  private let start: Int64

  /// Events that find room.
  private static let limit: UInt32 = 200_000
  /// *atomic* The address of the room, once there was a trace.
  private static let place = Atomic<UInt>(0)
  private static let isUnderWay = Atomic<Bool>(false)

  /// Begins a trace; nil if there is one already, or no memory.
  init?(_ loops: [(loop: Loop, recorder: Recorder)]) {
    guard !Self.isUnderWay.exchange(true, ordering: .acquiringAndReleasing) else { return nil }
    let room = unsafe Self.room ?? rondo_trace_make(Self.limit)
    guard let room = unsafe room else {
      Self.isUnderWay.store(false, ordering: .releasing)
      return nil
    }
    Self.place.store(UInt(bitPattern: room), ordering: .releasing)
    unsafe rondo_trace_open(room)
    start = rondo_monotonic_now()
    self.loops = loops
    for (index, entry) in loops.enumerated() { entry.recorder.setTracing(true, as: UInt8(clamping: index)) }
  }

  /// Any thread.
  static func add(_ event: rondo_event) {
    var event = event
    if let room = unsafe room { unsafe rondo_trace_add(room, &event) }
  }

  private static var room: OpaquePointer? { unsafe OpaquePointer(bitPattern: place.load(ordering: .acquiring)) }

  /// Ends the trace.
  func end() -> JSON {
    for entry in loops { entry.recorder.setTracing(false, as: 0) }
    guard let room = unsafe Self.room else { return .null }
    let events = unsafe [rondo_event](unsafeUninitializedCapacity: Int(Self.limit)) { buffer, count in
      unsafe count = Int(rondo_trace_close(room, buffer.baseAddress!))
    }
    let lost = unsafe rondo_trace_lost(room)
    Self.isUnderWay.store(false, ordering: .releasing)
    return json(events.filter { $0.time >= start }.sorted { $0.time < $1.time }, lost)
  }

  private func json(_ events: [rondo_event], _ lost: UInt64) -> JSON {
    var written: [JSON] = []
    for (loop, _) in loops {
      written.append(
        .members([
          "ph": .string("M"), "name": .string("thread_name"), "pid": process,
          "tid": .number(Int64(loop.threadNumber)), "args": .members(["name": .string(loop.name)]),
        ]))
    }
    var names: [UInt64: String] = [:]
    // What was under way when the trace began ends without a beginning, and is left out.
    var open: [Int32: Int] = [:]
    for event in events {
      switch event.what {
      case UInt8(rondo_callout_begins.rawValue):
        open[event.thread, default: 0] += 1
        if names[event.label] == nil { names[event.label] = Names.text(of: Label(word: event.label)) }
        written.append(span(event, "B", names[event.label]!, Names.text(ofKind: UInt64(event.kind))))
        if event.flow != 0 { written.append(flow(event, "f")) }
      case UInt8(rondo_sleep_begins.rawValue):
        open[event.thread, default: 0] += 1
        written.append(span(event, "B", "sleep", "wait"))
      case UInt8(rondo_callout_ends.rawValue), UInt8(rondo_sleep_ends.rawValue):
        guard open[event.thread, default: 0] > 0 else { continue }
        open[event.thread, default: 0] -= 1
        written.append(span(event, "E", nil, nil))
      case UInt8(rondo_posted.rawValue):
        written.append(instant(event))
        written.append(flow(event, "s"))
      case UInt8(rondo_flow_ends.rawValue): written.append(flow(event, "f"))
      default: break
      }
    }
    return .members([
      "traceEvents": .array(written), "displayTimeUnit": .string("ns"),
      "otherData": .members(["lost": .number(Int64(clamping: lost))]),
    ])
  }

  private var process: JSON { .number(Int64(getpid())) }

  private func span(_ event: rondo_event, _ phase: String, _ name: String?, _ category: String?) -> JSON {
    let arguments: JSON? =
      event.reason != 255
      ? .members(["reason": .string(Names.text(ofReason: event.reason))])
      : event.turn != 0 ? .members(["turn": .number(Int64(clamping: event.turn))]) : nil
    return .members([
      "ph": .string(phase), "name": name.map(JSON.string), "cat": category.map(JSON.string), "ts": time(event),
      "pid": process, "tid": .number(Int64(event.thread)), "args": arguments,
    ])
  }

  private func instant(_ event: rondo_event) -> JSON {
    let loop = Int(event.loop) < loops.count ? loops[Int(event.loop)].loop.name : ""
    return .members([
      "ph": .string("X"), "name": .string("post to \(loop)"), "cat": .string("post"), "ts": time(event),
      "dur": .thousandths(1), "pid": process, "tid": .number(Int64(event.thread)),
    ])
  }

  private func flow(_ event: rondo_event, _ phase: String) -> JSON {
    .members([
      "ph": .string(phase), "bp": phase == "f" ? .string("e") : nil, "id": .string(String(event.flow, radix: 16)),
      "name": .string("post"), "cat": .string("post"), "ts": time(event), "pid": process,
      "tid": .number(Int64(event.thread)),
    ])
  }

  /// Microseconds.
  private func time(_ event: rondo_event) -> JSON { .thousandths(event.time) }
}
