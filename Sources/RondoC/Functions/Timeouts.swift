// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The names are the header's.

public import CRondo
import Rondo

@c @implementation
public func rondo_timeout_new(
  _ timeout: UnsafeMutablePointer<rondo_timeout>?, _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?,
  _ date: Int64, _ tolerance: Int64, _ call: rondo_call?, _ context: UnsafeMutableRawPointer?
) -> CInt {
  done { () throws(rondo_error) in
    guard let timeout = unsafe timeout, let call = unsafe call else { throw RONDO_ERROR_NULL }
    let name = unsafe mode
    let mode = unsafe try Loop.Mode(named: name)
    unsafe timeout.pointee = try onItsThread(loop) { (loop) throws(rondo_error) in
      guard tolerance >= 0 else { throw RONDO_ERROR_RANGE }
      if unsafe name != nil { try loop.checkRoom(for: mode) }
      guard
        let made = unsafe loop.makeTimeout(
          at: Instant(nanoseconds: date), tolerance: tolerance, in: mode, calling: call, context)
      else { throw RONDO_ERROR_ENDED }
      return rondo_timeout(made)
    }
  }
}

@c @implementation
public func rondo_timeout_arm(_ loop: OpaquePointer?, _ timeout: rondo_timeout, _ date: Int64) -> CInt {
  done { () throws(rondo_error) in
    unsafe try onItsThread(loop) { (loop) throws(rondo_error) in
      let timeout = try Loop.Timeout(timeout)
      let isDone = date == .max ? loop.disarm(timeout) : loop.arm(timeout, at: Instant(nanoseconds: date))
      if !isDone { throw RONDO_ERROR_HANDLE }
    }
  }
}

@c @implementation
public func rondo_timeout_disarm(_ loop: OpaquePointer?, _ timeout: rondo_timeout) -> CInt {
  done { () throws(rondo_error) in
    unsafe try onItsThread(loop) { (loop) throws(rondo_error) in
      if !loop.disarm(try Loop.Timeout(timeout)) { throw RONDO_ERROR_HANDLE }
    }
  }
}

@c @implementation
public func rondo_timeout_discard(_ loop: OpaquePointer?, _ timeout: rondo_timeout) -> CInt {
  done { () throws(rondo_error) in
    unsafe try onItsThread(loop) { (loop) throws(rondo_error) in
      if !loop.discard(try Loop.Timeout(timeout)) { throw RONDO_ERROR_HANDLE }
    }
  }
}

@c @implementation
public func rondo_timeout_date(
  _ loop: OpaquePointer?, _ timeout: rondo_timeout, _ date: UnsafeMutablePointer<Int64>?
) -> CInt {
  done { () throws(rondo_error) in
    guard let date = unsafe date else { throw RONDO_ERROR_NULL }
    unsafe date.pointee = try onItsThread(loop) { (loop) throws(rondo_error) in
      let timeout = try Loop.Timeout(timeout)
      guard loop.holds(timeout) else { throw RONDO_ERROR_HANDLE }
      return loop.fireDate(of: timeout).map { Instant($0).nanoseconds } ?? .max
    }
  }
}

/// The loop of a handle, for a caller on its thread, which keeps it.
@inline(__always)
private func onItsThread<Answer>(
  _ loop: OpaquePointer?, _ body: (Loop) throws(rondo_error) -> Answer
) throws(rondo_error) -> Answer {
  unsafe try Borrowing.loop(loop).borrow { (loop) throws(rondo_error) in
    try loop.checkCaller()
    return try body(loop)
  }
}

extension rondo_timeout {
  /// The numbers of a timeout; not all zero, because loops are counted from 1.
  fileprivate init(_ timeout: Loop.Timeout) {
    let (token, loop) = timeout.numbers
    self.init(number: token, loop: UInt64(loop))
  }
}

extension Loop.Timeout {
  @inline(__always)
  fileprivate init(_ timeout: rondo_timeout) throws(rondo_error) {
    guard let loop = UInt32(exactly: timeout.loop) else { throw RONDO_ERROR_HANDLE }
    self.init(token: timeout.number, loop: loop)
  }
}
