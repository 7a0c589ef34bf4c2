// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The names are the symbols of the header.

public import CRondoCFPointers
import Glibc
import Rondo
import RondoSockets

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
  guard let socket = unsafe object(socket, SocketObject.self) else { return }
  socket.enable(types & socket.types)
}

@c @implementation
public func RondoCFSocketDisableCallBacks(_ socket: UnsafeMutableRawPointer?, _ types: CFOptionFlags) {
  unsafe object(socket, SocketObject.self)?.disable(types)
}

// MARK: - Addresses

@c @implementation
public func RondoCFSocketCreateWithSocketSignature(
  _ allocator: UnsafeRawPointer?, _ signature: UnsafePointer<CFSocketSignature>?, _ types: CFOptionFlags,
  _ callout: CFSocketCallBack?, _ context: UnsafePointer<CFSocketContext>?
) -> UnsafeMutableRawPointer? {
  unsafe make(signature, types, callout, context) { unsafe RondoCFSocketSetAddress($0, $1) }
}

@c @implementation
public func RondoCFSocketCreateConnectedToSocketSignature(
  _ allocator: UnsafeRawPointer?, _ signature: UnsafePointer<CFSocketSignature>?, _ types: CFOptionFlags,
  _ callout: CFSocketCallBack?, _ context: UnsafePointer<CFSocketContext>?, _ timeout: CFTimeInterval
) -> UnsafeMutableRawPointer? {
  unsafe make(signature, types, callout, context) { unsafe RondoCFSocketConnectToAddress($0, $1, timeout) }
}

/// A socket of a signature with which `body` succeeds.
private func make(
  _ signature: UnsafePointer<CFSocketSignature>?, _ types: CFOptionFlags, _ callout: CFSocketCallBack?,
  _ context: UnsafePointer<CFSocketContext>?,
  _ body: (UnsafeMutableRawPointer?, UnsafeRawPointer?) -> CFSocketError
) -> UnsafeMutableRawPointer? {
  guard let signature = unsafe signature?.pointee else { return nil }
  let made = unsafe RondoCFSocketCreate(
    nil, signature.protocolFamily, signature.socketType, signature.protocol, types, callout, context)
  guard let socket = unsafe made else { return nil }
  if unsafe body(socket, signature.address) == .success { return unsafe socket }
  unsafe object(socket, SocketObject.self)?.invalidate()
  unsafe release(socket)
  return nil
}

@c @implementation
public func RondoCFSocketSetAddress(
  _ socket: UnsafeMutableRawPointer?, _ address: UnsafeRawPointer?
) -> CFSocketError {
  guard let (socket, address) = unsafe valid(socket, address) else { return .error }
  let result = socket.bind(address)
  if result < 0 { warn("CFSocketSetAddress: \(SocketError(.bind, result))") }
  return result < 0 ? .error : .success
}

@c @implementation
public func RondoCFSocketConnectToAddress(
  _ socket: UnsafeMutableRawPointer?, _ address: UnsafeRawPointer?, _ timeout: CFTimeInterval
) -> CFSocketError {
  guard let (socket, address) = unsafe valid(socket, address) else { return .error }
  return answer(socket.connect(address, timeout: timeout))
}

@c @implementation
public func RondoCFSocketSendData(
  _ socket: UnsafeMutableRawPointer?, _ address: UnsafeRawPointer?, _ data: UnsafeRawPointer?,
  _ timeout: CFTimeInterval
) -> CFSocketError {
  guard let (socket, data) = unsafe valid(socket, data) else { return .error }
  return answer(socket.send(data, to: unsafe object(address, DataObject.self), timeout: timeout))
}

private func valid(
  _ socket: UnsafeMutableRawPointer?, _ data: UnsafeRawPointer?
) -> (SocketObject, DataObject)? {
  guard let socket = unsafe object(socket, SocketObject.self), socket.isValid,
    let data = unsafe object(data, DataObject.self)
  else { return nil }
  return (socket, data)
}

private func answer(_ result: CInt) -> CFSocketError {
  result == 0 ? .success : result == -ETIMEDOUT ? .timeout : .error
}

@c @implementation
public func RondoCFSocketCopyAddress(_ socket: UnsafeMutableRawPointer?) -> UnsafeRawPointer? {
  unsafe object(socket, SocketObject.self)?.address.map { unsafe UnsafeRawPointer($0.owned) }
}

@c @implementation
public func RondoCFSocketCopyPeerAddress(_ socket: UnsafeMutableRawPointer?) -> UnsafeRawPointer? {
  unsafe object(socket, SocketObject.self)?.peerAddress.map { unsafe UnsafeRawPointer($0.owned) }
}
