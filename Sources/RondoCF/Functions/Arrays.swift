// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The names are the symbols of the header.

public import CRondoCFPointers

// Arrays.

@c @implementation
public func RondoCFArrayGetTypeID() -> CFTypeID { ArrayObject.typeID }

@c @implementation
public func RondoCFArrayCreate(
  _ allocator: UnsafeRawPointer?, _ values: UnsafeMutablePointer<UnsafeRawPointer?>?, _ count: CFIndex,
  _ callbacks: UnsafePointer<CFArrayCallBacks>?
) -> UnsafeRawPointer? {
  guard unsafe count == 0 || (count > 0 && values != nil) else { return nil }
  let copy = unsafe Array(UnsafeBufferPointer(start: values, count: count))
  let retains = unsafe callbacks?.pointee.retain != nil
  return unsafe UnsafeRawPointer(ArrayObject(copy, retaining: retains).owned)
}

@c @implementation
public func RondoCFArrayGetCount(_ array: UnsafeRawPointer?) -> CFIndex {
  unsafe object(array, ArrayObject.self)?.values.count ?? 0
}

@c @implementation
public func RondoCFArrayGetValueAtIndex(_ array: UnsafeRawPointer?, _ index: CFIndex) -> UnsafeRawPointer? {
  guard let values = unsafe object(array, ArrayObject.self)?.values, unsafe values.indices.contains(index)
  else { return nil }
  return unsafe values[index]
}

// MARK: - Mutable arrays

@c @implementation
public func RondoCFArrayCreateMutable(
  _ allocator: UnsafeRawPointer?, _ capacity: CFIndex, _ callbacks: UnsafePointer<CFArrayCallBacks>?
) -> UnsafeMutableRawPointer? {
  unsafe MutableArrayObject([], retaining: callbacks?.pointee.retain != nil).owned
}

@c @implementation
public func RondoCFArrayAppendValue(_ array: UnsafeMutableRawPointer?, _ value: UnsafeRawPointer?) {
  guard let array = unsafe object(array, MutableArrayObject.self) else { return }
  unsafe array.insert(value, at: array.values.count)
}

@c @implementation
public func RondoCFArrayInsertValueAtIndex(
  _ array: UnsafeMutableRawPointer?, _ index: CFIndex, _ value: UnsafeRawPointer?
) {
  guard let array = unsafe object(array, MutableArrayObject.self), unsafe 0...array.values.count ~= index else {
    return
  }
  unsafe array.insert(value, at: index)
}

@c @implementation
public func RondoCFArrayRemoveValueAtIndex(_ array: UnsafeMutableRawPointer?, _ index: CFIndex) {
  guard let array = unsafe object(array, MutableArrayObject.self), unsafe array.values.indices ~= index else { return }
  array.remove(index..<index + 1)
}

@c @implementation
public func RondoCFArrayRemoveAllValues(_ array: UnsafeMutableRawPointer?) {
  guard let array = unsafe object(array, MutableArrayObject.self) else { return }
  unsafe array.remove(0..<array.values.count)
}
