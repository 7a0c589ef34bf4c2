internal import CRondo
import Rondo
import RondoInspect

extension Unmanaged {
  /// Calls `body` without counting a reference: something else keeps the object for as long.
  @inline(__always)
  func borrow<Answer>(_ body: (Instance) throws(rondo_error) -> Answer) throws(rondo_error) -> Answer {
    let answer: Result<Answer, rondo_error> = unsafe _withUnsafeGuaranteedRef { object in
      Result { () throws(rondo_error) in try body(object) }
    }
    return try answer.get()
  }
}

/// What a handle in C stands for, without a reference count: the caller has a reference, or is in a callout of it.
enum Borrowing {
  @inline(__always)
  static func loop(_ handle: OpaquePointer?) throws(rondo_error) -> Unmanaged<Loop> {
    unsafe .fromOpaque(try object(handle, RONDO_LOOP))
  }

  @inline(__always)
  static func timer(_ handle: OpaquePointer?) throws(rondo_error) -> Unmanaged<Loop.Timer> {
    unsafe .fromOpaque(try object(handle, RONDO_TIMER))
  }

  @inline(__always)
  static func source(_ handle: OpaquePointer?) throws(rondo_error) -> Unmanaged<Loop.Source> {
    unsafe .fromOpaque(try object(handle, RONDO_SOURCE))
  }

  @inline(__always)
  static func descriptor(_ handle: OpaquePointer?) throws(rondo_error) -> Unmanaged<Loop.DescriptorSource> {
    unsafe .fromOpaque(try object(handle, RONDO_DESCRIPTOR))
  }

  static func embedding(_ handle: OpaquePointer?) throws(rondo_error) -> Loop.Embedding {
    unsafe Unmanaged.fromOpaque(try object(handle, RONDO_EMBEDDING)).takeUnretainedValue()
  }

  static func stallMonitor(_ handle: OpaquePointer?) throws(rondo_error) -> StallMonitor {
    let object = unsafe try object(handle, RONDO_STALL_MONITOR)
    guard let monitor = unsafe Unmanaged<StallCall>.fromOpaque(object).takeUnretainedValue().monitor else {
      throw RONDO_ERROR_HANDLE
    }
    return monitor
  }

  /// A timer, source, descriptor or observer.
  static func item(_ handle: UnsafeMutableRawPointer?) throws(rondo_error) -> Loop.Item {
    let record = unsafe try HandleTable.shared.find(UInt(bitPattern: handle))
    switch unsafe record.pointee.kind {
    case RONDO_TIMER, RONDO_SOURCE, RONDO_DESCRIPTOR, RONDO_OBSERVER: break
    default: throw RONDO_ERROR_KIND
    }
    guard let object = unsafe record.pointee.object else { throw RONDO_ERROR_HANDLE }
    return unsafe Unmanaged.fromOpaque(object.toOpaque()).takeUnretainedValue()
  }

  @inline(__always)
  private static func object(_ handle: OpaquePointer?, _ kind: rondo_kind) throws(rondo_error)
    -> UnsafeMutableRawPointer
  {
    unsafe try HandleTable.shared.object(UInt(bitPattern: handle), kind).toOpaque()
  }
}
