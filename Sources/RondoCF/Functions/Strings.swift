// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The names are the symbols of the header.

public import CRondoCFPointers
import Glibc

// Strings.

@c @implementation
public func RondoCFStringMakeConstant(_ characters: UnsafePointer<CChar>?) -> UnsafeRawPointer? {
  guard let characters = unsafe characters else { return nil }
  return unsafe UnsafeRawPointer(StringObject.constant(String(cString: characters)).pointer)
}

@c @implementation
public func RondoCFStringGetTypeID() -> CFTypeID { StringObject.typeID }

@c @implementation
public func RondoCFStringCreateCopy(_ allocator: UnsafeRawPointer?, _ string: UnsafeRawPointer?) -> UnsafeRawPointer? {
  // It cannot change, so itself will do.
  unsafe object(string, StringObject.self).map { unsafe UnsafeRawPointer($0.owned) }
}

@c @implementation
public func RondoCFStringGetLength(_ string: UnsafeRawPointer?) -> CFIndex {
  unsafe object(string, StringObject.self)?.string.utf16.count ?? 0
}

// MARK: - Making

@c @implementation
public func RondoCFStringCreateWithBytes(
  _ allocator: UnsafeRawPointer?, _ bytes: UnsafePointer<UInt8>?, _ count: CFIndex, _ encoding: CFStringEncoding,
  _ isExternalRepresentation: Bool
) -> UnsafeRawPointer? {
  guard unsafe count == 0 || (count > 0 && bytes != nil) else { return nil }
  let bytes = unsafe Array(UnsafeBufferPointer(start: bytes, count: count))
  guard let string = Encoding(encoding)?.decode(bytes, isExternal: isExternalRepresentation) else { return nil }
  return unsafe UnsafeRawPointer(StringObject(string).owned)
}

@c @implementation
public func RondoCFStringCreateWithCString(
  _ allocator: UnsafeRawPointer?, _ characters: UnsafePointer<CChar>?, _ encoding: CFStringEncoding
) -> UnsafeRawPointer? {
  guard let characters = unsafe characters else { return nil }
  let bytes = unsafe UnsafeRawPointer(characters).assumingMemoryBound(to: UInt8.self)
  return unsafe RondoCFStringCreateWithBytes(allocator, bytes, strlen(characters), encoding, false)
}

@c @implementation
public func RondoCFStringCreateWithCStringNoCopy(
  _ allocator: UnsafeRawPointer?, _ characters: UnsafePointer<CChar>?, _ encoding: CFStringEncoding,
  _ deallocator: UnsafeRawPointer?
) -> UnsafeRawPointer? {
  let string = unsafe RondoCFStringCreateWithCString(allocator, characters, encoding)
  if unsafe string != nil { unsafe RondoCFAllocatorDeallocate(deallocator, UnsafeMutablePointer(mutating: characters)) }
  return unsafe string
}

@c @implementation
public func RondoCFStringCreateWithCharacters(
  _ allocator: UnsafeRawPointer?, _ characters: UnsafePointer<UniChar>?, _ count: CFIndex
) -> UnsafeRawPointer? {
  guard unsafe count == 0 || (count > 0 && characters != nil) else { return nil }
  let units = unsafe UnsafeBufferPointer(start: characters, count: count)
  return unsafe UnsafeRawPointer(StringObject(String(decoding: units, as: UTF16.self)).owned)
}

/// The string that a format has made.
@c @implementation
public func rondo_cf_string(_ bytes: UnsafePointer<CChar>?, _ count: Int) -> UnsafeRawPointer? {
  let bytes = unsafe UnsafeRawBufferPointer(start: bytes, count: count)
  return unsafe UnsafeRawPointer(StringObject(String(decoding: bytes, as: UTF8.self)).owned)
}

// MARK: - Reading

@c @implementation
public func RondoCFStringGetMaximumSizeForEncoding(_ length: CFIndex, _ encoding: CFStringEncoding) -> CFIndex {
  guard let encoding = Encoding(encoding) else { return -1 }
  let (size, isTooMuch) = length.multipliedReportingOverflow(by: encoding.mostBytesOfUnit)
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
  // What is ASCII is the same in all encodings of bytes.
  let isSame = encoding == .utf8 || (encoding.mostBytesOfUnit == 1 && string.string.utf8.allSatisfy { $0 < 0x80 })
  return unsafe isSame ? UnsafePointer(string.characters) : nil
}

@c @implementation
public func RondoCFStringGetBytes(
  _ string: UnsafeRawPointer?, _ range: CFRange, _ encoding: CFStringEncoding, _ lossByte: UInt8,
  _ isExternalRepresentation: Bool, _ buffer: UnsafeMutablePointer<UInt8>?, _ size: CFIndex,
  _ usedSize: UnsafeMutablePointer<CFIndex>?
) -> CFIndex {
  unsafe usedSize?.pointee = 0
  guard let units = unsafe units(of: string, in: range), let encoding = Encoding(encoding) else { return 0 }
  let limit = unsafe buffer == nil ? Int.max : size
  var (used, converted) = (0, 0)
  func write(_ bytes: [UInt8]) -> Bool {
    guard bytes.count <= limit - used else { return false }
    if let buffer = unsafe buffer {
      for (index, byte) in bytes.enumerated() { unsafe buffer[used + index] = byte }
    }
    used += bytes.count
    return true
  }
  if isExternalRepresentation, !write(encoding.mark) { return 0 }
  for scalar in String(decoding: units, as: UTF16.self).unicodeScalars {
    guard let bytes = encoding.encode(scalar) ?? (lossByte == 0 ? nil : [lossByte]), write(bytes) else { break }
    converted += UTF16.width(scalar)
  }
  unsafe usedSize?.pointee = used
  return converted
}

@c @implementation
public func RondoCFStringGetCharacters(
  _ string: UnsafeRawPointer?, _ range: CFRange, _ buffer: UnsafeMutablePointer<UniChar>?
) {
  guard let units = unsafe units(of: string, in: range), let buffer = unsafe buffer else { return }
  for (index, unit) in units.enumerated() { unsafe buffer[index] = unit }
}

@c @implementation
public func RondoCFStringGetCharacterAtIndex(_ string: UnsafeRawPointer?, _ index: CFIndex) -> UniChar {
  unsafe units(of: string, in: CFRange(location: index, length: 1))?.first ?? 0
}

/// The units of UTF-16 in a range; nil if it is not within the string.
private func units(of string: UnsafeRawPointer?, in range: CFRange) -> [UniChar]? {
  guard let string = unsafe object(string, StringObject.self)?.string.utf16, range.location >= 0, range.length >= 0,
    range.location <= string.count, range.length <= string.count - range.location
  else { return nil }
  return Array(string.dropFirst(range.location).prefix(range.length))
}

@c @implementation
public func RondoCFStringCompare(
  _ one: UnsafeRawPointer?, _ other: UnsafeRawPointer?, _ options: CFOptionFlags
) -> CFComparisonResult {
  let ignoresCase = options & 1 != 0
  func key(_ string: UnsafeRawPointer?) -> [UniChar] {
    let units = unsafe object(string, StringObject.self)?.string.utf16.map(\.self) ?? []
    return ignoresCase ? units.map { 0x41...0x5a ~= $0 ? $0 + 0x20 : $0 } : units
  }
  let (one, other) = unsafe (key(one), key(other))
  return one == other ? .compareEqualTo : one.lexicographicallyPrecedes(other) ? .compareLessThan : .compareGreaterThan
}

@c @implementation
public func RondoCFStringGetSystemEncoding() -> CFStringEncoding { CFStringBuiltInEncodings.UTF8.rawValue }
