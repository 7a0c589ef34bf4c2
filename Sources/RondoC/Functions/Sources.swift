// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The names are the header's.

public import CRondo
import Rondo

@c @implementation
public func rondo_source_new(
  _ source: UnsafeMutablePointer<OpaquePointer?>?, _ order: CInt, _ perform: rondo_source_call?,
  _ schedule: rondo_source_mode_call?, _ cancel: rondo_source_mode_call?, _ context: UnsafeMutableRawPointer?,
  _ destroy: rondo_call?
) -> CInt {
  done { () throws(rondo_error) in
    guard let source = unsafe source, let perform = unsafe perform else { throw RONDO_ERROR_NULL }
    let call = unsafe try SourceCall(perform, schedule, cancel, context, destroy)
    var scheduled: (@Sendable (Loop, Loop.Mode) -> Void)?
    var cancelled: (@Sendable (Loop, Loop.Mode) -> Void)?
    if unsafe schedule != nil { scheduled = { [call] loop, mode in call.schedule(loop, mode) } }
    if unsafe cancel != nil { cancelled = { [call] loop, mode in call.cancel(loop, mode) } }
    let made = Loop.Source(
      order: Int(order), schedule: scheduled, cancel: cancelled, perform: { [call] in call.perform() })
    unsafe made.label = Label(code: unsafeBitCast(perform, to: UInt.self))
    unsafe source.pointee = call.publish(made, RONDO_SOURCE)
  }
}

@c @implementation
public func rondo_source_signal(_ source: OpaquePointer?, _ flags: CUnsignedInt) -> CInt {
  done { () throws(rondo_error) in
    // The caller has a reference, or is in the source's callout.
    unsafe try Borrowing.source(source).borrow { (source) throws(rondo_error) in
      try check(flags, within: RONDO_QUIETLY)
      guard source.isValid else { throw RONDO_ERROR_INVALID }
      source.signal(waking: flags == 0)
    }
  }
}

@c @implementation
public func rondo_source_is_signalled(_ source: OpaquePointer?) -> CInt {
  answer { () throws(rondo_error) in unsafe try Borrowing.source(source).takeUnretainedValue().isSignalled ? 1 : 0 }
}
