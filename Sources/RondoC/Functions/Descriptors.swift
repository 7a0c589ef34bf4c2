// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The names are the header's.

public import CRondo
import Glibc
import Rondo

@c @implementation
public func rondo_descriptor_new(
  _ source: UnsafeMutablePointer<OpaquePointer?>?, _ descriptor: CInt, _ readiness: CUnsignedInt, _ flags: CUnsignedInt,
  _ order: CInt, _ call: rondo_descriptor_call?, _ context: UnsafeMutableRawPointer?, _ destroy: rondo_call?
) -> CInt {
  done { () throws(rondo_error) in
    guard let source = unsafe source, let call = unsafe call else { throw RONDO_ERROR_NULL }
    let interest = try Loop.DescriptorSource.Readiness(readiness)
    try check(flags, within: RONDO_EDGE | RONDO_CLOSE)
    let callee = unsafe try DescriptorCall(call, context, destroy)
    let made: Loop.DescriptorSource
    do throws(Loop.DescriptorError) {
      made = try Loop.DescriptorSource(
        descriptor, for: interest, trigger: flags & RONDO_EDGE != 0 ? .edge : .level, order: Int(order),
        closesOnInvalidation: flags & RONDO_CLOSE != 0,
        handler: { [callee] source, readiness in callee.tell(source, readiness) })
    } catch {
      callee.withdraw()
      switch error {
      case .notOpen: throw RONDO_ERROR_DESCRIPTOR
      case .notPollable: throw RONDO_ERROR_POLLABLE
      }
    }
    unsafe made.label = Label(code: unsafeBitCast(call, to: UInt.self))
    unsafe source.pointee = callee.publish(made, RONDO_DESCRIPTOR)
  }
}

@c @implementation
public func rondo_descriptor_enabled(_ source: OpaquePointer?) -> CInt {
  answer { () throws(rondo_error) in
    CInt(unsafe try Borrowing.descriptor(source).takeUnretainedValue().enabled.rawValue)
  }
}

@c @implementation
public func rondo_descriptor_enable(_ source: OpaquePointer?, _ readiness: CUnsignedInt) -> CInt {
  done { () throws(rondo_error) in
    let source = unsafe try Borrowing.descriptor(source).takeUnretainedValue()
    let readiness = try Loop.DescriptorSource.Readiness(readiness)
    guard source.isValid else { throw RONDO_ERROR_INVALID }
    source.enabled = readiness
  }
}

@c @implementation
public func rondo_descriptor_reason(_ source: OpaquePointer?) -> CInt {
  answer { () throws(rondo_error) in
    word(for: unsafe try Borrowing.descriptor(source).takeUnretainedValue().invalidationReason).rawValue
  }
}

/// The header's word for why a loop gave up a source.
func word(for reason: Loop.DescriptorSource.InvalidationReason?) -> rondo_error {
  switch reason {
  case nil: RONDO_OK
  case .descriptorClosed: RONDO_ERROR_DESCRIPTOR
  case .mixedTriggers: RONDO_ERROR_TRIGGER
  case .refused(ENOMEM): RONDO_ERROR_MEMORY
  case .refused(ENOSPC): RONDO_ERROR_SHORTAGE
  case .refused: RONDO_ERROR_POLLABLE
  }
}

extension Loop.DescriptorSource.Readiness {
  fileprivate init(_ readiness: CUnsignedInt) throws(rondo_error) {
    try check(readiness, within: RONDO_READ.rawValue | RONDO_WRITE.rawValue | RONDO_CLOSED.rawValue)
    self.init(rawValue: UInt8(readiness))
  }
}
