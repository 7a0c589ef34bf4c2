// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The names are the header's.

public import CRondo
import Rondo

@c @implementation
public func rondo_timer_new(
  _ timer: UnsafeMutablePointer<OpaquePointer?>?, _ date: Int64, _ interval: Int64, _ order: CInt,
  _ call: rondo_timer_call?, _ context: UnsafeMutableRawPointer?, _ destroy: rondo_call?
) -> CInt {
  done { () throws(rondo_error) in
    guard let timer = unsafe timer, let call = unsafe call else { throw RONDO_ERROR_NULL }
    guard interval >= 0 else { throw RONDO_ERROR_RANGE }
    let callee = unsafe try TimerCall(call, context, destroy)
    let made = Loop.Timer(
      at: Instant(nanoseconds: date).suspending, every: interval > 0 ? .nanoseconds(interval) : nil, order: Int(order),
      handler: { [callee] tick in callee.fire(tick) })
    unsafe made.label = Label(code: unsafeBitCast(call, to: UInt.self))
    unsafe timer.pointee = callee.publish(made, RONDO_TIMER)
  }
}

@c @implementation
public func rondo_timer_date(_ timer: OpaquePointer?, _ date: UnsafeMutablePointer<Int64>?) -> CInt {
  done { () throws(rondo_error) in
    let timer = unsafe try Borrowing.timer(timer).takeUnretainedValue()
    guard let date = unsafe date else { throw RONDO_ERROR_NULL }
    unsafe date.pointee = Instant(timer.fireDate).nanoseconds
  }
}

@c @implementation
public func rondo_timer_set_date(_ timer: OpaquePointer?, _ date: Int64) -> CInt {
  done { () throws(rondo_error) in
    let timer = unsafe try validTimer(timer)
    timer.fireDate = Instant(nanoseconds: date).suspending
  }
}

@c @implementation
public func rondo_timer_interval(_ timer: OpaquePointer?, _ interval: UnsafeMutablePointer<Int64>?) -> CInt {
  done { () throws(rondo_error) in
    let timer = unsafe try Borrowing.timer(timer).takeUnretainedValue()
    guard let interval = unsafe interval else { throw RONDO_ERROR_NULL }
    unsafe interval.pointee = timer.interval.saturatingNanoseconds
  }
}

@c @implementation
public func rondo_timer_set_interval(_ timer: OpaquePointer?, _ interval: Int64) -> CInt {
  done { () throws(rondo_error) in
    let timer = unsafe try validTimer(timer)
    guard interval > 0, timer.repeats else { throw RONDO_ERROR_RANGE }
    timer.interval = .nanoseconds(interval)
  }
}

@c @implementation
public func rondo_timer_tolerance(_ timer: OpaquePointer?, _ tolerance: UnsafeMutablePointer<Int64>?) -> CInt {
  done { () throws(rondo_error) in
    let timer = unsafe try Borrowing.timer(timer).takeUnretainedValue()
    guard let tolerance = unsafe tolerance else { throw RONDO_ERROR_NULL }
    unsafe tolerance.pointee = timer.tolerance.saturatingNanoseconds
  }
}

@c @implementation
public func rondo_timer_set_tolerance(_ timer: OpaquePointer?, _ tolerance: Int64) -> CInt {
  done { () throws(rondo_error) in
    let timer = unsafe try validTimer(timer)
    guard tolerance >= 0 else { throw RONDO_ERROR_RANGE }
    timer.tolerance = .nanoseconds(tolerance)
  }
}

@c @implementation
public func rondo_timer_set_precise(_ timer: OpaquePointer?, _ isPrecise: CInt) -> CInt {
  done { () throws(rondo_error) in
    let timer = unsafe try validTimer(timer)
    timer.isPrecise = isPrecise != 0
  }
}

@c @implementation
public func rondo_timer_fire(_ timer: OpaquePointer?) -> CInt {
  done { () throws(rondo_error) in
    let timer = unsafe try validTimer(timer)
    // Asked and answered at once: another thread may move the timer at any moment.
    if let home = timer.fireAtHome() { throw home.hasEnded ? RONDO_ERROR_ENDED : RONDO_ERROR_THREAD }
  }
}

private func validTimer(_ handle: OpaquePointer?) throws(rondo_error) -> Loop.Timer {
  let timer = unsafe try Borrowing.timer(handle).takeUnretainedValue()
  guard timer.isValid else { throw RONDO_ERROR_INVALID }
  return timer
}
