// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The names are the header's.

public import CRondo
import Rondo

// Loops: finding, running, stopping, waking, and their modes.

@c @implementation
public func rondo_loop_current(_ loop: UnsafeMutablePointer<OpaquePointer?>?) -> CInt {
  done { () throws(rondo_error) in
    guard let loop = unsafe loop else { throw RONDO_ERROR_NULL }
    unsafe loop.pointee = try handle { () throws(DescriptorShortage) in try Loop.makeCurrent() }
  }
}

@c @implementation
public func rondo_loop_main(_ loop: UnsafeMutablePointer<OpaquePointer?>?) -> CInt {
  done { () throws(rondo_error) in
    guard let loop = unsafe loop else { throw RONDO_ERROR_NULL }
    unsafe loop.pointee = try handle { () throws(DescriptorShortage) in try Loop.makeMain() }
  }
}

private func handle(_ make: () throws(DescriptorShortage) -> Loop) throws(rondo_error) -> OpaquePointer {
  let loop: Loop
  do { loop = try make() } catch { throw error.isOfMemory ? RONDO_ERROR_MEMORY : RONDO_ERROR_SHORTAGE }
  return unsafe try LoopHandle.handle(of: loop)
}

@c @implementation
public func rondo_loop_is_current(_ loop: OpaquePointer?) -> CInt {
  answer { () throws(rondo_error) in unsafe try Borrowing.loop(loop).takeUnretainedValue().isCurrent ? 1 : 0 }
}

// MARK: - Runs

@c @implementation
public func rondo_loop_run(
  _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ nanoseconds: Int64, _ flags: CUnsignedInt
) -> CInt {
  answer { () throws(rondo_error) in
    try check(flags, within: RONDO_ONE_SOURCE)
    let mode = unsafe try Loop.Mode(one: mode)
    // Its thread keeps it.
    return unsafe try Borrowing.loop(loop).borrow { (loop) throws(rondo_error) in
      try loop.checkCaller()
      if loop.isLeftToHost { throw RONDO_ERROR_EMBEDDED }
      return code(of: run(loop, mode, nanoseconds, returnAfterSourceHandled: flags & RONDO_ONE_SOURCE != 0))
    }
  }
}

@inline(__always)
@available(*, noasync)
private func run(
  _ loop: Loop, _ mode: Loop.Mode, _ nanoseconds: Int64, returnAfterSourceHandled: Bool
) -> Loop.RunResult {
  if nanoseconds == .max { return loop.run(in: mode, returnAfterSourceHandled: returnAfterSourceHandled) }
  let duration = nanoseconds > 0 ? Duration.nanoseconds(nanoseconds) : .zero
  return loop.run(in: mode, for: duration, returnAfterSourceHandled: returnAfterSourceHandled)
}

/// CFRunLoopRunInMode's number for it.
@inline(__always)
func code(of result: Loop.RunResult) -> CInt {
  switch result {
  case .finished: CInt(RONDO_FINISHED.rawValue)
  case .stopped: CInt(RONDO_STOPPED.rawValue)
  case .timedOut: CInt(RONDO_TIMED_OUT.rawValue)
  case .handledSource: CInt(RONDO_HANDLED_SOURCE.rawValue)
  }
}

@c @implementation
public func rondo_loop_stop(_ loop: OpaquePointer?) -> CInt {
  done { () throws(rondo_error) in
    let loop = unsafe try Borrowing.loop(loop).takeUnretainedValue()
    try loop.checkLife()
    loop.stop()
  }
}

@c @implementation
public func rondo_loop_request_stop(_ loop: OpaquePointer?) -> CInt {
  done { () throws(rondo_error) in
    let loop = unsafe try Borrowing.loop(loop).takeUnretainedValue()
    try loop.checkLife()
    loop.requestStop()
  }
}

@c @implementation
public func rondo_loop_wake_up(_ loop: OpaquePointer?) -> CInt {
  done { () throws(rondo_error) in
    let loop = unsafe try Borrowing.loop(loop).takeUnretainedValue()
    try loop.checkLife()
    loop.wakeUp()
  }
}

@c @implementation
public func rondo_loop_is_waiting(_ loop: OpaquePointer?) -> CInt {
  answer { () throws(rondo_error) in unsafe try Borrowing.loop(loop).takeUnretainedValue().isWaiting ? 1 : 0 }
}

// MARK: - Modes

@c @implementation
public func rondo_loop_current_mode(
  _ loop: OpaquePointer?, _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int
) -> CInt {
  answer { () throws(rondo_error) in
    let loop = unsafe try Borrowing.loop(loop).takeUnretainedValue()
    if unsafe buffer == nil && size != 0 { throw RONDO_ERROR_NULL }
    let name = loop.currentMode?.rawValue ?? ""
    if let buffer = unsafe buffer, size != 0 {
      // A size_t may say more than any buffer has.
      let room = size < 0 ? Int.max : size
      let bytes = name.utf8.prefix(room - 1)
      for (index, byte) in bytes.enumerated() { unsafe buffer[index] = CChar(bitPattern: byte) }
      unsafe buffer[bytes.count] = 0
    }
    return CInt(clamping: name.utf8.count)
  }
}

@c @implementation
public func rondo_loop_each_mode(
  _ loop: OpaquePointer?, _ call: rondo_mode_call?, _ context: UnsafeMutableRawPointer?
) -> CInt {
  answer { () throws(rondo_error) in
    let loop = unsafe try Borrowing.loop(loop).takeUnretainedValue()
    guard let call = unsafe call else { throw RONDO_ERROR_NULL }
    let modes = loop.modes
    for mode in modes { unsafe mode.rawValue.withCString { unsafe call($0, context) } }
    return CInt(modes.count)
  }
}

@c @implementation
public func rondo_loop_add_common_mode(_ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?) -> CInt {
  done { () throws(rondo_error) in
    let loop = unsafe try Borrowing.loop(loop).takeUnretainedValue()
    let mode = unsafe try Loop.Mode(one: mode)
    try loop.checkLife()
    if !loop.addCommonMode(mode, onlyIfRoom: true) { throw RONDO_ERROR_MODES }
  }
}

@c @implementation
public func rondo_loop_next_date(
  _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ date: UnsafeMutablePointer<Int64>?
) -> CInt {
  done { () throws(rondo_error) in
    let loop = unsafe try Borrowing.loop(loop).takeUnretainedValue()
    guard let date = unsafe date else { throw RONDO_ERROR_NULL }
    let mode = unsafe try Loop.Mode(one: mode)
    try loop.checkLife()
    unsafe date.pointee = loop.nextFireDate(in: mode).map { Instant($0).nanoseconds } ?? .max
  }
}
