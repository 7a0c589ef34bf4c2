internal import CLinux
internal import CRondoInspect
import Glibc
import Rondo
import Synchronization

/// What loops do for a while: their callouts and sleeps, and which post or signal each came from. One at a time in a
/// process.
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
    for (index, entry) in loops.enumerated() {
      entry.loop.reportSleeps()
      entry.recorder.setTracing(true, as: UInt8(clamping: index))
    }
  }

  /// Any thread.
  static func add(_ event: rondo_event) {
    var event = event
    if let room = unsafe room { unsafe rondo_trace_add(room, &event) }
  }

  private static var room: OpaquePointer? { unsafe OpaquePointer(bitPattern: place.load(ordering: .acquiring)) }

  /// Ends the trace.
  func end() -> String {
    var (events, lost) = take()
    events.removeAll { $0.time < start }
    events.sort { $0.time < $1.time }
    return TraceWriter.text(events, of: loops.map { ($0.loop.name, $0.loop.threadNumber) }, lost: lost)
  }

  /// Ends the trace, whose client has gone.
  func giveUp() { _ = take() }

  private func take() -> (events: [rondo_event], lost: UInt64) {
    for entry in loops { entry.recorder.setTracing(false, as: 0) }
    guard let room = unsafe Self.room else { return ([], 0) }
    let events = unsafe [rondo_event](unsafeUninitializedCapacity: Int(Self.limit)) { buffer, count in
      unsafe count = Int(rondo_trace_close(room, buffer.baseAddress!))
    }
    let lost = unsafe rondo_trace_lost(room)
    Self.isUnderWay.store(false, ordering: .releasing)
    return (events, lost)
  }
}
