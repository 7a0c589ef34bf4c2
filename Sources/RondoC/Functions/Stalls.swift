// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The names are the header's.

public import CRondo
import Rondo
import RondoInspect

@c @implementation
public func rondo_stall_monitor_new(
  _ monitor: UnsafeMutablePointer<OpaquePointer?>?, _ limit: Int64, _ call: rondo_stall_call?,
  _ context: UnsafeMutableRawPointer?, _ destroy: rondo_call?
) -> CInt {
  done { () throws(rondo_error) in
    guard let monitor = unsafe monitor else { throw RONDO_ERROR_NULL }
    if limit < 1_000_000 { throw RONDO_ERROR_RANGE }
    unsafe monitor.pointee = try StallCall(limit, call, context, destroy).publish()
  }
}

@c @implementation
public func rondo_stall_monitor_watch(_ monitor: OpaquePointer?, _ loop: OpaquePointer?) -> CInt {
  done { () throws(rondo_error) in
    let monitor = unsafe try Borrowing.stallMonitor(monitor)
    let loop = unsafe try Borrowing.loop(loop).takeUnretainedValue()
    try loop.checkLife()
    monitor.watch(loop)
  }
}

@c @implementation
public func rondo_stall_monitor_stop_watching(_ monitor: OpaquePointer?, _ loop: OpaquePointer?) -> CInt {
  done { () throws(rondo_error) in
    let monitor = unsafe try Borrowing.stallMonitor(monitor)
    monitor.stopWatching(unsafe try Borrowing.loop(loop).takeUnretainedValue())
  }
}
