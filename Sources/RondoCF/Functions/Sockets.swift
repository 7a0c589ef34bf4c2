// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The names are the symbols of the header.

public import CRondoCFPointers
import Glibc
import Rondo

// Sockets.

@c @implementation
public func RondoCFSocketGetTypeID() -> CFTypeID { SocketObject.typeID }

@c @implementation
public func RondoCFSocketCreateWithNative(
  _ allocator: UnsafeRawPointer?, _ descriptor: CFSocketNativeHandle, _ types: CFOptionFlags,
  _ callout: CFSocketCallBack?, _ context: UnsafePointer<CFSocketContext>?
) -> UnsafeMutableRawPointer? {
  guard fcntl(descriptor, F_GETFD) >= 0 else { return nil }
  let given = unsafe context?.pointee ?? CFSocketContext()
  let socket = unsafe SocketObject.of(descriptor, types, callout) {
    unsafe Info(given.info, given.retain, given.release, given.copyDescription)
  }
  return unsafe socket.owned
}

@c @implementation
public func RondoCFSocketCreate(
  _ allocator: UnsafeRawPointer?, _ family: Int32, _ type: Int32, _ protocol: Int32, _ types: CFOptionFlags,
  _ callout: CFSocketCallBack?, _ context: UnsafePointer<CFSocketContext>?
) -> UnsafeMutableRawPointer? {
  // CoreFoundation takes none, or less, for TCP over IPv4.
  let family = family > 0 ? family : AF_INET
  let type = type > 0 ? type : CInt(SOCK_STREAM.rawValue)
  let descriptor = socket(family, type | CInt(SOCK_CLOEXEC.rawValue), max(`protocol`, 0))
  guard descriptor >= 0 else { return nil }
  return unsafe RondoCFSocketCreateWithNative(allocator, descriptor, types, callout, context)
}

@c @implementation
public func RondoCFSocketCreateRunLoopSource(
  _ allocator: UnsafeRawPointer?, _ socket: UnsafeMutableRawPointer?, _ order: CFIndex
) -> UnsafeMutableRawPointer? {
  unsafe object(socket, SocketObject.self)?.source(order: order)?.owned
}

@c @implementation
public func RondoCFSocketInvalidate(_ socket: UnsafeMutableRawPointer?) {
  unsafe object(socket, SocketObject.self)?.invalidate()
}

@c @implementation
public func RondoCFSocketIsValid(_ socket: UnsafeMutableRawPointer?) -> Bool {
  unsafe object(socket, SocketObject.self)?.isValid ?? false
}

@c @implementation
public func RondoCFSocketGetNative(_ socket: UnsafeMutableRawPointer?) -> CFSocketNativeHandle {
  guard let socket = unsafe object(socket, SocketObject.self), socket.isValid else { return -1 }
  return socket.descriptor
}

@c @implementation
public func RondoCFSocketGetContext(
  _ socket: UnsafeMutableRawPointer?, _ context: UnsafeMutablePointer<CFSocketContext>?
) {
  guard let socket = unsafe object(socket, SocketObject.self), let context = unsafe context else { return }
  var given = unsafe CFSocketContext()
  if let info = socket.info {
    unsafe given.info = info.pointer
    unsafe given.retain = info.retain
    unsafe given.release = info.release
    unsafe given.copyDescription = info.describe
  }
  unsafe context.pointee = given
}

@c @implementation
public func RondoCFSocketGetSocketFlags(_ socket: UnsafeMutableRawPointer?) -> CFOptionFlags {
  unsafe object(socket, SocketObject.self)?.flags ?? 0
}

@c @implementation
public func RondoCFSocketSetSocketFlags(_ socket: UnsafeMutableRawPointer?, _ flags: CFOptionFlags) {
  unsafe object(socket, SocketObject.self)?.flags = flags
}

@c @implementation
public func RondoCFSocketEnableCallBacks(_ socket: UnsafeMutableRawPointer?, _ types: CFOptionFlags) {
  unsafe object(socket, SocketObject.self)?.enable(types)
}

@c @implementation
public func RondoCFSocketDisableCallBacks(_ socket: UnsafeMutableRawPointer?, _ types: CFOptionFlags) {
  unsafe object(socket, SocketObject.self)?.disable(types)
}
