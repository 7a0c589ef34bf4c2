// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The names are the symbols of the header.

public import CRondoCFPointers
import Glibc

// What every object has, allocators aside.

@c @implementation
public func RondoCFRetain(_ object: UnsafeRawPointer?) -> UnsafeRawPointer? {
  if let object = unsafe object { unsafe retain(object) }
  return unsafe object
}

@c @implementation
public func RondoCFRelease(_ object: UnsafeRawPointer?) {
  if let object = unsafe object { unsafe release(object) }
}

@c @implementation
public func RondoCFGetRetainCount(_ object: UnsafeRawPointer?) -> CFIndex {
  unsafe object == nil ? 0 : rondo_cf_retain_count(object)
}

@c @implementation
public func RondoCFGetTypeID(_ object: UnsafeRawPointer?) -> CFTypeID {
  guard let found = unsafe RondoCF.object(object, CFObject.self) else { return 0 }
  return type(of: found).typeID
}

@c @implementation
public func RondoCFEqual(_ one: UnsafeRawPointer?, _ other: UnsafeRawPointer?) -> Bool {
  guard let one = unsafe object(one, CFObject.self), let other = unsafe object(other, CFObject.self)
  else { return false }
  return one.isEqual(to: other)
}

@c @implementation
public func RondoCFHash(_ object: UnsafeRawPointer?) -> CFHashCode {
  unsafe RondoCF.object(object, CFObject.self)?.hashCode ?? 0
}

@c @implementation
public func RondoCFCopyDescription(_ object: UnsafeRawPointer?) -> UnsafeRawPointer? {
  guard let found = unsafe RondoCF.object(object, CFObject.self) else { return nil }
  return unsafe UnsafeRawPointer(StringObject(found.text).owned)
}

@c @implementation
public func RondoCFShow(_ object: UnsafeRawPointer?) {
  let text = unsafe RondoCF.object(object, CFObject.self)?.text ?? "(null)"
  let line = Array("\(text)\n".utf8)
  _ = unsafe write(STDERR_FILENO, line, line.count)
}

@c @implementation
public func RondoCFAbsoluteTimeGetCurrent() -> CFAbsoluteTime {
  absoluteTime
}
