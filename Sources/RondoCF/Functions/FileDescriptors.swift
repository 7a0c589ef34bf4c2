// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The names are the symbols of the header.

public import CRondoCFPointers
import Glibc
import Rondo

// File descriptors.

@c @implementation
public func RondoCFFileDescriptorGetTypeID() -> CFTypeID { FileDescriptorObject.typeID }

@c @implementation
public func RondoCFFileDescriptorCreate(
  _ allocator: UnsafeRawPointer?, _ descriptor: CFFileDescriptorNativeDescriptor, _ closesOnInvalidate: Bool,
  _ callout: CFFileDescriptorCallBack?, _ context: UnsafePointer<CFFileDescriptorContext>?
) -> UnsafeMutableRawPointer? {
  guard let callout = unsafe callout, fcntl(descriptor, F_GETFD) >= 0 else { return nil }
  let given = unsafe context?.pointee ?? CFFileDescriptorContext()
  // Its functions take the same pointers without const.
  let info = unsafe Info(
    given.info, unsafeBitCast(given.retain, to: Info.Retain?.self),
    unsafeBitCast(given.release, to: Info.Release?.self),
    unsafeBitCast(given.copyDescription, to: Info.Describe?.self))
  return unsafe FileDescriptorObject(descriptor, closing: closesOnInvalidate, callout, info).owned
}

@c @implementation
public func RondoCFFileDescriptorGetNativeDescriptor(
  _ descriptor: UnsafeMutableRawPointer?
) -> CFFileDescriptorNativeDescriptor {
  guard let object = unsafe object(descriptor, FileDescriptorObject.self), object.isValid else { return -1 }
  return object.descriptor
}

@c @implementation
public func RondoCFFileDescriptorGetContext(
  _ descriptor: UnsafeMutableRawPointer?, _ context: UnsafeMutablePointer<CFFileDescriptorContext>?
) {
  guard let object = unsafe object(descriptor, FileDescriptorObject.self), let context = unsafe context else { return }
  var given = unsafe CFFileDescriptorContext()
  if let info = object.info {
    unsafe given.info = info.pointer
    unsafe given.retain = unsafeBitCast(info.retain, to: type(of: given.retain))
    unsafe given.release = unsafeBitCast(info.release, to: type(of: given.release))
    unsafe given.copyDescription = unsafeBitCast(info.describe, to: type(of: given.copyDescription))
  }
  unsafe context.pointee = given
}

@c @implementation
public func RondoCFFileDescriptorEnableCallBacks(_ descriptor: UnsafeMutableRawPointer?, _ types: CFOptionFlags) {
  unsafe object(descriptor, FileDescriptorObject.self)?.enable(types)
}

@c @implementation
public func RondoCFFileDescriptorDisableCallBacks(_ descriptor: UnsafeMutableRawPointer?, _ types: CFOptionFlags) {
  unsafe object(descriptor, FileDescriptorObject.self)?.disable(types)
}

@c @implementation
public func RondoCFFileDescriptorInvalidate(_ descriptor: UnsafeMutableRawPointer?) {
  unsafe object(descriptor, FileDescriptorObject.self)?.invalidate()
}

@c @implementation
public func RondoCFFileDescriptorIsValid(_ descriptor: UnsafeMutableRawPointer?) -> Bool {
  unsafe object(descriptor, FileDescriptorObject.self)?.isValid ?? false
}

@c @implementation
public func RondoCFFileDescriptorCreateRunLoopSource(
  _ allocator: UnsafeRawPointer?, _ descriptor: UnsafeMutableRawPointer?, _ order: CFIndex
) -> UnsafeMutableRawPointer? {
  unsafe object(descriptor, FileDescriptorObject.self)?.source(order: order)?.owned
}
