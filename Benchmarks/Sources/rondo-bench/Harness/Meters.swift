import CBench

/// Owns the C meter of one round of wakes.
///
/// Sendable because the meter's fields are atomic, save the latencies: those belong to the loop's thread until it has
/// returned, and are read after that.
final class WakeMeter: @unchecked Sendable {
  let pointer: UnsafeMutablePointer<bench_meter>
  private let expected: Int

  init(expecting count: Int) {
    expected = count
    let latencies = UnsafeMutablePointer<Int64>.allocate(capacity: count)
    latencies.initialize(repeating: 0, count: count)
    pointer = .allocate(capacity: 1)
    pointer.initialize(
      to: bench_meter(
        stamp: 0, received: 0, surplus: 0, expected: count, latencies: latencies, stopper: bench_stopper()))
  }

  deinit {
    pointer.pointee.latencies.deallocate()
    pointer.deallocate()
  }

  var received: Int { bench_meter_received(pointer) }
  var surplus: Int { bench_meter_surplus(pointer) }

  /// The callout, once it knows the loop to stop at the end.
  func call(stopping handle: LoopHandle) -> Call {
    pointer.pointee.stopper = handle.stopper
    return Call(callout: bench_meter_called, context: pointer)
  }

  /// What the callout measured, in order. After the loop has returned.
  func latencies(dropping warmUp: Int) -> [Int64] {
    Array(UnsafeBufferPointer(start: pointer.pointee.latencies, count: received).dropFirst(warmUp))
  }
}

/// Owns the C meter of one run of a repeating timer.
///
/// Sendable because one thread at a time touches it: the loop's, and after that has returned the harness's.
final class TickMeter: @unchecked Sendable {
  let pointer: UnsafeMutablePointer<bench_ticks>

  /// Makes a grid of `count` points that begins a moment from now, so that opening the loop is no part of it.
  ///
  /// On a whole millisecond, so that a loop that knows nothing finer loses nothing by it, or `phase` nanoseconds later.
  ///
  /// Each callout computes for `work` nanoseconds.
  init(every interval: Int64, phase: Int64 = 0, work: Int64 = 0, count: Int) {
    let settling: Int64 = 5_000_000
    let lateness = UnsafeMutablePointer<Int64>.allocate(capacity: count)
    lateness.initialize(repeating: 0, count: count)
    pointer = .allocate(capacity: 1)
    pointer.initialize(to: bench_ticks())
    pointer.pointee.first = (bench_now() + max(interval, settling)) / 1_000_000 * 1_000_000 + phase
    pointer.pointee.interval = interval
    pointer.pointee.work = work
    pointer.pointee.expected = count
    pointer.pointee.lateness = lateness
  }

  deinit {
    pointer.pointee.lateness.deallocate()
    pointer.deallocate()
  }

  var first: Int64 { pointer.pointee.first }
  var interval: Int64 { pointer.pointee.interval }
  var expected: Int { pointer.pointee.expected }
  var fires: Int { pointer.pointee.fires }
  var missed: Int { pointer.pointee.missed }
  var early: Int { pointer.pointee.early }
  /// Processor time that its callouts computed for.
  var worked: Int64 { pointer.pointee.worked }

  /// How late each callout came, in order.
  var lateness: [Int64] {
    Array(UnsafeBufferPointer(start: pointer.pointee.lateness, count: min(fires, expected)))
  }

  /// How far off the subject's own schedule ended, counted in whole intervals from where it began.
  ///
  /// Nil when the subject does not state its schedule.
  var drift: Int64? {
    let (begin, end) = (pointer.pointee.claims.0, pointer.pointee.claims.1)
    guard begin != 0, end != 0 else { return nil }
    let offset = (end - begin) % interval
    return offset > interval / 2 ? offset - interval : offset < -interval / 2 ? offset + interval : offset
  }
}
