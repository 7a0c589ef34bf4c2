// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The names are the header's.

import CLinux
internal import CRondo
import Rondo

// The library, and handles of every kind.

@c @implementation
public func rondo_version() -> CInt { 1000 * RONDO_VERSION_MAJOR + RONDO_VERSION_MINOR }

@c @implementation
public func rondo_now() -> Int64 { rondo_monotonic_now() }

@c @implementation
public func rondo_kind_of(_ handle: UnsafeRawPointer?) -> CInt {
  answer { () throws(rondo_error) in
    CInt(unsafe try HandleTable.shared.find(UInt(bitPattern: handle)).pointee.kind.rawValue)
  }
}

@c @implementation
public func rondo_retain(_ handle: UnsafeMutableRawPointer?) -> CInt {
  done { () throws(rondo_error) in try HandleTable.shared.retain(UInt(bitPattern: handle)) }
}

@c @implementation
public func rondo_release(_ handle: UnsafeMutableRawPointer?) -> CInt {
  done { () throws(rondo_error) in
    let number = UInt(bitPattern: handle)
    let table = HandleTable.shared
    if unsafe try table.find(number).pointee.kind == RONDO_EMBEDDING, try table.isLastReference(number) {
      let loop = unsafe try Borrowing.embedding(OpaquePointer(handle)).loop
      guard loop.isCurrent || loop.hasEnded else { throw RONDO_ERROR_THREAD }
    }
    try table.release(number)
  }
}
