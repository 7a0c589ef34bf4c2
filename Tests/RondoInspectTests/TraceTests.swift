import CRondoInspect
import Foundation
import Rondo
import RondoTestSupport
import Testing

@testable import RondoInspect

/// What the writer of traces makes of a loop's events.
@Suite(.offThePool) struct TraceTests {
  /// Events of one thread, and what each adds to the trace, in words.
  private func spans(_ events: [rondo_event]) throws -> [String] {
    let text = TraceWriter.text(events, of: [("loop", 7)], lost: 0)
    let trace = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    return try #require(trace["traceEvents"] as? [[String: Any]]).compactMap { event in
      guard let phase = event["ph"] as? String, phase != "M" else { return nil }
      let time = event["ts"] as? Double ?? -1
      let name = event["name"] as? String
      let turn = (event["args"] as? [String: Any])?["turn"] as? Int
      return ["\(time)", phase, name, turn.map { "\($0)" }].compactMap { $0 }.joined(separator: " ")
    }
  }

  private func event(
    _ time: Int64, _ what: rondo_event_kind, _ kind: CalloutKind? = nil, turn: UInt64 = 0
  ) -> rondo_event {
    rondo_event(
      time: time * 1_000, label: 0, flow: 0, turn: turn, thread: 7, what: UInt8(what.rawValue),
      kind: kind?.rawValue ?? 255, reason: 255, loop: 0)
  }

  @Test func `callouts of one kind make a phase, phases a turn, and a sleep ends it`() throws {
    let spans = try spans([
      event(1, rondo_callout_begins, .timer, turn: 4), event(2, rondo_callout_ends),
      event(3, rondo_callout_begins, .timer, turn: 4), event(4, rondo_callout_ends),
      event(5, rondo_callout_begins, .source, turn: 4), event(6, rondo_callout_ends),
      event(7, rondo_sleep_begins), event(8, rondo_sleep_ends),
      event(9, rondo_callout_begins, .descriptor, turn: 5), event(10, rondo_callout_ends),
    ])
    #expect(
      spans == [
        "1.0 B turn 4", "1.0 B timers", "1.0 B ?", "2.0 E", "3.0 B ?", "4.0 E", "4.0 E", "5.0 B sources", "5.0 B ?",
        "6.0 E", "6.0 E", "6.0 E", "7.0 B sleep", "8.0 E", "9.0 B turn 5", "9.0 B descriptors", "9.0 B ?", "10.0 E",
        "10.0 E", "10.0 E",
      ])
  }

  @Test func `a long trace ends before it is too long, and says how many events are missing`() throws {
    let events = (1...100_000).flatMap { turn in
      [event(Int64(turn), rondo_callout_begins, .timer, turn: UInt64(turn)), event(Int64(turn), rondo_callout_ends)]
    }
    let text = TraceWriter.text(events, of: [("loop", 7)], lost: 5)
    #expect(text.utf8.count < TraceWriter.limit + 1_000)
    let trace = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    let lost = try #require((trace["otherData"] as? [String: Any])?["lost"] as? Int)
    let callouts = try #require(trace["traceEvents"] as? [[String: Any]]).count { $0["name"] as? String == "?" }
    // Each of them begins and ends; the last one may not.
    #expect(abs(200_005 - 2 * callouts - lost) <= 1)
    #expect(lost > 5 && callouts > 10_000)
  }

  @Test func `turns without a sleep between them are apart`() throws {
    let spans = try spans([
      event(1, rondo_callout_begins, .block, turn: 1), event(2, rondo_callout_ends),
      event(3, rondo_callout_begins, .block, turn: 2), event(4, rondo_callout_ends),
    ])
    #expect(
      spans == [
        "1.0 B turn 1", "1.0 B blocks", "1.0 B ?", "2.0 E", "2.0 E", "2.0 E", "3.0 B turn 2", "3.0 B blocks", "3.0 B ?",
        "4.0 E", "4.0 E", "4.0 E",
      ])
  }

  @Test func `a run in a callout has turns of its own inside it`() throws {
    let spans = try spans([
      event(1, rondo_callout_begins, .block, turn: 1),
      event(2, rondo_callout_begins, .timer, turn: 2), event(3, rondo_callout_ends),
      event(4, rondo_sleep_begins), event(5, rondo_sleep_ends),
      event(6, rondo_callout_begins, .timer, turn: 3), event(7, rondo_callout_ends),
      event(8, rondo_callout_ends),
    ])
    #expect(
      spans == [
        "1.0 B turn 1", "1.0 B blocks", "1.0 B ?", "2.0 B turn 2", "2.0 B timers", "2.0 B ?", "3.0 E", "3.0 E", "3.0 E",
        "4.0 B sleep", "5.0 E", "6.0 B turn 3", "6.0 B timers", "6.0 B ?", "7.0 E", "7.0 E", "7.0 E", "8.0 E", "8.0 E",
        "8.0 E",
      ])
  }

  @Test func `what was under way before the trace has no end in it, and what ends after it stays open`() throws {
    let spans = try spans([
      event(1, rondo_callout_ends), event(2, rondo_sleep_begins), event(3, rondo_sleep_ends),
      event(4, rondo_callout_begins, .job, turn: 9),
    ])
    #expect(spans == ["2.0 B sleep", "3.0 E", "4.0 B turn 9", "4.0 B jobs", "4.0 B ?"])
  }
}
