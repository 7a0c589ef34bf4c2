// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The names are the symbols of the header.

public import CRondoCFPointers

// Data.

@c @implementation
public func RondoCFDataGetTypeID() -> CFTypeID { DataObject.typeID }

@c @implementation
public func RondoCFDataCreate(
  _ allocator: UnsafeRawPointer?, _ bytes: UnsafePointer<UInt8>?, _ length: CFIndex
) -> UnsafeRawPointer? {
  guard unsafe length == 0 || (length > 0 && bytes != nil) else { return nil }
  return unsafe UnsafeRawPointer(DataObject(UnsafeBufferPointer(start: bytes, count: length)).owned)
}

@c @implementation
public func RondoCFDataCreateCopy(_ allocator: UnsafeRawPointer?, _ data: UnsafeRawPointer?) -> UnsafeRawPointer? {
  guard let data = unsafe object(data, DataObject.self) else { return nil }
  // What cannot change will do itself.
  let copy = unsafe data is MutableDataObject ? DataObject(data.bytes) : data
  return unsafe UnsafeRawPointer(copy.owned)
}

@c @implementation
public func RondoCFDataGetLength(_ data: UnsafeRawPointer?) -> CFIndex {
  unsafe object(data, DataObject.self)?.bytes.count ?? 0
}

@c @implementation
public func RondoCFDataGetBytePtr(_ data: UnsafeRawPointer?) -> UnsafePointer<UInt8>? {
  unsafe object(data, DataObject.self)?.bytes.baseAddress.map { unsafe UnsafePointer($0) }
}

@c @implementation
public func RondoCFDataGetBytes(_ data: UnsafeRawPointer?, _ range: CFRange, _ buffer: UnsafeMutablePointer<UInt8>?) {
  guard let data = unsafe object(data, DataObject.self), let buffer = unsafe buffer else { return }
  let (end, isTooMuch) = range.location.addingReportingOverflow(range.length)
  guard range.location >= 0, range.length >= 0, !isTooMuch, unsafe end <= data.bytes.count else { return }
  for index in 0..<range.length { unsafe buffer[index] = data.bytes[range.location + index] }
}

@c @implementation
public func RondoCFDataCreateWithBytesNoCopy(
  _ allocator: UnsafeRawPointer?, _ bytes: UnsafePointer<UInt8>?, _ length: CFIndex, _ deallocator: UnsafeRawPointer?
) -> UnsafeRawPointer? {
  let data = unsafe RondoCFDataCreate(allocator, bytes, length)
  if unsafe data != nil { unsafe RondoCFAllocatorDeallocate(deallocator, UnsafeMutablePointer(mutating: bytes)) }
  return unsafe data
}

// MARK: - Mutable data

@c @implementation
public func RondoCFDataCreateMutable(_ allocator: UnsafeRawPointer?, _ capacity: CFIndex) -> UnsafeMutableRawPointer? {
  unsafe MutableDataObject([]).owned
}

@c @implementation
public func RondoCFDataAppendBytes(
  _ data: UnsafeMutableRawPointer?, _ bytes: UnsafePointer<UInt8>?, _ length: CFIndex
) {
  guard let data = unsafe object(data, MutableDataObject.self), let bytes = unsafe bytes, length > 0 else { return }
  unsafe data.append(UnsafeBufferPointer(start: bytes, count: length))
}

@c @implementation
public func RondoCFDataSetLength(_ data: UnsafeMutableRawPointer?, _ length: CFIndex) {
  unsafe object(data, MutableDataObject.self)?.resize(max(0, length))
}

@c @implementation
public func RondoCFDataGetMutableBytePtr(_ data: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<UInt8>? {
  unsafe object(data, MutableDataObject.self)?.bytes.baseAddress
}
