// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The names are the header's.

public import CRondo
import Rondo

@c @implementation
public func rondo_loop_statistics(_ loop: OpaquePointer?, _ statistics: UnsafeMutablePointer<rondo_statistics>?) -> CInt
{
  done { () throws(rondo_error) in
    let loop = unsafe try Borrowing.loop(loop).takeUnretainedValue()
    guard let statistics = unsafe statistics else { throw RONDO_ERROR_NULL }
    // Callers of an earlier header have room for less, those of a later one for more.
    let room = UInt(bitPattern: unsafe statistics.pointee.size)
    guard room >= UInt(MemoryLayout<Int>.size) else { throw RONDO_ERROR_RANGE }
    let size = Int(min(room, UInt(MemoryLayout<rondo_statistics>.size)))
    var seen = rondo_statistics(loop.statistics)
    seen.size = size
    unsafe withUnsafeBytes(of: &seen) { bytes in
      unsafe UnsafeMutableRawPointer(statistics).copyMemory(from: bytes.baseAddress!, byteCount: size)
    }
  }
}

extension rondo_statistics {
  fileprivate init(_ statistics: Loop.Statistics) {
    self.init()
    turns = statistics.turns
    sleeps = statistics.sleeps
    polls = statistics.polls
    wakeups_by_post = statistics.wakeupsByPost
    wakeups_by_descriptor = statistics.wakeupsByDescriptor
    wakeups_by_timer = statistics.wakeupsByTimer
    wakeups_by_timeout = statistics.wakeupsByTimeout
    wakeups_by_main_queue = statistics.wakeupsByMainQueue
    spurious_wakeups = statistics.spuriousWakeups
    spins = statistics.spins
    spins_denied = statistics.spinsDenied
    time_spinning = statistics.timeSpinning.saturatingNanoseconds
    time_asleep = statistics.timeAsleep?.saturatingNanoseconds ?? 0
    observer_calls = statistics.observerCallouts
    timer_calls = statistics.timerCallouts
    source_calls = statistics.sourceCallouts
    descriptor_calls = statistics.descriptorCallouts
    post_calls = statistics.blockCallouts
    main_queue_calls = statistics.mainQueueCallouts
    missed_ticks = statistics.missedTicks
  }
}

@c @implementation
public func rondo_loop_set_times_sleep(_ loop: OpaquePointer?, _ timesSleep: CInt) -> CInt {
  done { () throws(rondo_error) in
    unsafe try Borrowing.loop(loop).takeUnretainedValue().timesSleep = timesSleep != 0
  }
}

@c @implementation
public func rondo_loop_set_precision_budget(_ loop: OpaquePointer?, _ nanoseconds: Int64) -> CInt {
  done { () throws(rondo_error) in
    let loop = unsafe try Borrowing.loop(loop).takeUnretainedValue()
    loop.precisionBudget = try budget(nanoseconds)
  }
}

@c @implementation
public func rondo_loop_set_busy_poll_budget(_ loop: OpaquePointer?, _ nanoseconds: Int64) -> CInt {
  done { () throws(rondo_error) in
    let loop = unsafe try Borrowing.loop(loop).takeUnretainedValue()
    loop.busyPollBudget = try budget(nanoseconds)
  }
}

/// A part of each second.
private func budget(_ nanoseconds: Int64) throws(rondo_error) -> Duration {
  guard (0...1_000_000_000).contains(nanoseconds) else { throw RONDO_ERROR_RANGE }
  return .nanoseconds(nanoseconds)
}
