// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The names are the symbols of the header.

public import CRondoCFPointers

// Strings, data and arrays, as far as a run loop's users need them.

// MARK: - Strings

@c @implementation
public func RondoCFStringMakeConstant(_ characters: UnsafePointer<CChar>?) -> UnsafeRawPointer? {
  guard let characters = unsafe characters else { return nil }
  return unsafe UnsafeRawPointer(StringObject.constant(String(cString: characters)).pointer)
}

@c @implementation
public func RondoCFStringGetTypeID() -> CFTypeID { StringObject.typeID }

@c @implementation
public func RondoCFStringCreateWithCString(
  _ allocator: UnsafeRawPointer?, _ characters: UnsafePointer<CChar>?, _ encoding: CFStringEncoding
) -> UnsafeRawPointer? {
  guard let characters = unsafe characters else { return nil }
  let bytes = unsafe UnsafeBufferPointer(start: characters, count: length(characters)).map { UInt8(bitPattern: $0) }
  guard let string = Encoding(encoding)?.decode(bytes) else { return nil }
  return unsafe UnsafeRawPointer(StringObject(string).owned)
}

@c @implementation
public func RondoCFStringCreateCopy(_ allocator: UnsafeRawPointer?, _ string: UnsafeRawPointer?) -> UnsafeRawPointer? {
  // It cannot change, so itself will do.
  unsafe object(string, StringObject.self).map { unsafe UnsafeRawPointer($0.owned) }
}

@c @implementation
public func RondoCFStringGetLength(_ string: UnsafeRawPointer?) -> CFIndex {
  unsafe object(string, StringObject.self)?.string.utf16.count ?? 0
}

@c @implementation
public func RondoCFStringGetMaximumSizeForEncoding(_ length: CFIndex, _ encoding: CFStringEncoding) -> CFIndex {
  guard let encoding = Encoding(encoding) else { return -1 }
  let (size, isTooMuch) = length.multipliedReportingOverflow(by: encoding == .utf8 ? 3 : 1)
  return isTooMuch ? -1 : size
}

@c @implementation
public func RondoCFStringGetCString(
  _ string: UnsafeRawPointer?, _ characters: UnsafeMutablePointer<CChar>?, _ size: CFIndex, _ encoding: CFStringEncoding
) -> Bool {
  guard let characters = unsafe characters, let string = unsafe object(string, StringObject.self)?.string,
    let bytes = Encoding(encoding)?.encode(string), bytes.count < size
  else { return false }
  for (index, byte) in bytes.enumerated() { unsafe characters[index] = CChar(bitPattern: byte) }
  unsafe characters[bytes.count] = 0
  return true
}

@c @implementation
public func RondoCFStringGetCStringPtr(
  _ string: UnsafeRawPointer?, _ encoding: CFStringEncoding
) -> UnsafePointer<CChar>? {
  guard let string = unsafe object(string, StringObject.self), let encoding = Encoding(encoding) else { return nil }
  // What is ASCII is the same in all of them.
  guard encoding == .utf8 || string.string.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
  return unsafe UnsafePointer(string.characters)
}

/// The encodings that are understood.
private enum Encoding {
  case utf8, ascii, latin1

  init?(_ encoding: CFStringEncoding) {
    switch encoding {
    case CFStringBuiltInEncodings.UTF8.rawValue: self = .utf8
    case CFStringBuiltInEncodings.ASCII.rawValue: self = .ascii
    case CFStringBuiltInEncodings.isoLatin1.rawValue: self = .latin1
    default: return nil
    }
  }

  func decode(_ bytes: [UInt8]) -> String? {
    switch self {
    case .utf8: String(validating: bytes, as: UTF8.self)
    case .ascii: bytes.allSatisfy { $0 < 0x80 } ? String(decoding: bytes, as: UTF8.self) : nil
    case .latin1: String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }
  }

  func encode(_ string: String) -> [UInt8]? {
    let limit: UInt32
    switch self {
    case .utf8: return Array(string.utf8)
    case .ascii: limit = 0x80
    case .latin1: limit = 0x100
    }
    guard string.unicodeScalars.allSatisfy({ $0.value < limit }) else { return nil }
    return string.unicodeScalars.map { UInt8($0.value) }
  }
}

private func length(_ characters: UnsafePointer<CChar>) -> Int {
  var length = 0
  while unsafe characters[length] != 0 { length += 1 }
  return length
}

// MARK: - Data

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
  unsafe object(data, DataObject.self).map { unsafe UnsafeRawPointer($0.owned) }
}

@c @implementation
public func RondoCFDataGetLength(_ data: UnsafeRawPointer?) -> CFIndex {
  unsafe object(data, DataObject.self)?.bytes.count ?? 0
}

@c @implementation
public func RondoCFDataGetBytePtr(_ data: UnsafeRawPointer?) -> UnsafePointer<UInt8>? {
  unsafe object(data, DataObject.self)?.bytes.baseAddress
}

@c @implementation
public func RondoCFDataGetBytes(_ data: UnsafeRawPointer?, _ range: CFRange, _ buffer: UnsafeMutablePointer<UInt8>?) {
  guard let data = unsafe object(data, DataObject.self), let buffer = unsafe buffer else { return }
  let (end, isTooMuch) = range.location.addingReportingOverflow(range.length)
  guard range.location >= 0, range.length >= 0, !isTooMuch, unsafe end <= data.bytes.count else { return }
  for index in 0..<range.length { unsafe buffer[index] = data.bytes[range.location + index] }
}

// MARK: - Arrays

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
