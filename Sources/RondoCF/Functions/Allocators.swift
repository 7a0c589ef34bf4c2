// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The names are the symbols of the header.

public import CRondoCFPointers
import Glibc

// Allocators: malloc, and one that does nothing.

@c @implementation
public func RondoCFAllocatorGetDefault() -> UnsafeRawPointer? { nil }

@c @implementation
public func RondoCFGetAllocator(_ object: UnsafeRawPointer?) -> UnsafeRawPointer? { nil }

@c @implementation
public func RondoCFAllocatorAllocate(
  _ allocator: UnsafeRawPointer?, _ size: CFIndex, _ hint: CFOptionFlags
) -> UnsafeMutableRawPointer? {
  unsafe size > 0 && allocator == nil ? malloc(size) : nil
}

@c @implementation
public func RondoCFAllocatorReallocate(
  _ allocator: UnsafeRawPointer?, _ memory: UnsafeMutableRawPointer?, _ size: CFIndex, _ hint: CFOptionFlags
) -> UnsafeMutableRawPointer? {
  guard unsafe allocator == nil else { return nil }
  if size > 0 { return unsafe realloc(memory, size) }
  unsafe free(memory)
  return nil
}

@c @implementation
public func RondoCFAllocatorDeallocate(_ allocator: UnsafeRawPointer?, _ memory: UnsafeMutableRawPointer?) {
  if unsafe allocator == nil { unsafe free(memory) }
}

/// The object behind kCFAllocatorNull.
@c @implementation
public func rondo_cf_null_allocator() -> UnsafeRawPointer? {
  unsafe UnsafeRawPointer(AllocatorObject().owned)
}
