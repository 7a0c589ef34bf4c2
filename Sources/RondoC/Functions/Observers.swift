// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The names are the header's.

public import CRondo
import Rondo

@c @implementation
public func rondo_observer_new(
  _ observer: UnsafeMutablePointer<OpaquePointer?>?, _ activities: CUnsignedInt, _ flags: CUnsignedInt, _ order: CInt,
  _ call: rondo_observer_call?, _ context: UnsafeMutableRawPointer?, _ destroy: rondo_call?
) -> CInt {
  done { () throws(rondo_error) in
    guard let observer = unsafe observer, let call = unsafe call else { throw RONDO_ERROR_NULL }
    try check(flags, within: RONDO_ONCE)
    let callee = unsafe try ObserverCall(call, context, destroy)
    let made = Loop.Observer(
      Loop.Activity(rawValue: activities), repeats: flags & RONDO_ONCE == 0, order: Int(order),
      handler: { [callee] activity in callee.tell(activity) })
    unsafe made.label = Label(code: unsafeBitCast(call, to: UInt.self))
    unsafe observer.pointee = callee.publish(made, RONDO_OBSERVER)
  }
}
