internal import CRondoInspect
internal import Rondo
import Synchronization

/// The measures of the callouts of all items with one name.
///
/// Unnamed items made at one place in the source have one name.
public struct Measures: Sendable {
  /// "timer", "descriptor", "source", "observer", "timeout", "block", "main queue" or "job".
  ///
  /// "others" is for names beyond 512.
  public let kind: String
  /// The items' name, or a block's or job's function. Empty for "others".
  public let name: String
  /// The number of callouts.
  public let callouts: UInt64
  /// The number of callouts that were the first after a sleep.
  public let wakeups: UInt64
  /// The number of grid points of timers that passed without a fire.
  public let missed: UInt64
  /// The time from when an item was ready to its callout.
  ///
  /// An item is ready at a timer's date, a signal or a post; a descriptor at the end of the sleep.
  public let ready: Histogram
  /// The time from the beginning of a callout to its end.
  public let run: Histogram

  /// The number of callouts that shared the wakeup of another callout.
  package var coalesced: UInt64 { callouts - min(wakeups, callouts) }

  fileprivate init(_ place: rondo_place, _ ready: Histogram, _ run: Histogram) {
    kind = Names.text(ofKind: UInt64(place.kind))
    name = place.kind == 255 ? "" : Names.text(of: Label(word: place.label))
    (callouts, wakeups, missed) = (place.callouts, place.wakeups, place.missed)
    self.ready = ready
    self.run = run
  }

  var json: JSON {
    .members([
      "kind": .string(kind), "name": .string(name), "callouts": .number(Int64(clamping: callouts)),
      "wakeups": .number(Int64(clamping: wakeups)), "coalesced": .number(Int64(clamping: coalesced)),
      "missed": .number(Int64(clamping: missed)), "ready": ready.json, "run": run.json,
    ])
  }
}

extension Recorder {
  /// What was measured so far, place by place. Any thread.
  var measured: [Measures] {
    guard let measures = unsafe measures.load(ordering: .acquiring) else { return [] }
    var found: [Measures] = []
    for index in 0...UInt32(rondo_place_limit) {
      var place = rondo_place()
      var (ready, run) = unsafe (rondo_histogram(), rondo_histogram())
      var readyBuckets = [UInt64](repeating: 0, count: Int(rondo_histogram_buckets))
      var runBuckets = readyBuckets
      let isThere = unsafe readyBuckets.withUnsafeMutableBufferPointer { readyRoom in
        unsafe runBuckets.withUnsafeMutableBufferPointer { runRoom in
          unsafe ready.buckets = readyRoom.baseAddress
          unsafe run.buckets = runRoom.baseAddress
          return unsafe rondo_measures_read(measures, index, &place, &ready, &run)
        }
      }
      guard isThere != 0 else { break }
      if place.callouts == 0 { continue }
      found.append(
        unsafe Measures(
          place, Histogram(count: ready.count, sum: ready.sum, longest: ready.longest, buckets: readyBuckets),
          Histogram(count: run.count, sum: run.sum, longest: run.longest, buckets: runBuckets)))
    }
    return found.sorted { $0.run.total > $1.run.total }
  }
}
