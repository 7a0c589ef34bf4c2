// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The names are the symbols of the header.

public import CRondoCFPointers
import Rondo
import RondoPorts

// Message ports.

@c @implementation
public func RondoCFMessagePortGetTypeID() -> CFTypeID { MessagePortObject.typeID }

@c @implementation
public func RondoCFMessagePortCreateLocal(
  _ allocator: UnsafeRawPointer?, _ name: UnsafeRawPointer?, _ callout: CFMessagePortCallBack?,
  _ context: UnsafeMutablePointer<CFMessagePortContext>?, _ shouldFreeInfo: UnsafeMutablePointer<Bool>?
) -> UnsafeMutableRawPointer? {
  // Until a port is made, the info is the caller's.
  unsafe shouldFreeInfo?.pointee = true
  guard let name = unsafe object(name, StringObject.self), let callout = unsafe callout else { return nil }
  let given = unsafe context?.pointee ?? CFMessagePortContext()
  let made = unsafe MessagePortObject.local(name, callout) {
    unsafe Info(given.info, given.retain, given.release, given.copyDescription)
  }
  guard let (port, isNew) = made else { return nil }
  unsafe shouldFreeInfo?.pointee = !isNew
  return unsafe port.owned
}

@c @implementation
public func RondoCFMessagePortCreateRemote(
  _ allocator: UnsafeRawPointer?, _ name: UnsafeRawPointer?
) -> UnsafeMutableRawPointer? {
  guard let name = unsafe object(name, StringObject.self) else { return nil }
  return unsafe MessagePortObject.remote(name)?.owned
}

@c @implementation
public func RondoCFMessagePortIsRemote(_ port: UnsafeMutableRawPointer?) -> Bool {
  unsafe object(port, MessagePortObject.self)?.isRemote ?? false
}

@c @implementation
public func RondoCFMessagePortGetName(_ port: UnsafeMutableRawPointer?) -> UnsafeRawPointer? {
  unsafe object(port, MessagePortObject.self).map { unsafe UnsafeRawPointer($0.name.pointer) }
}

@c @implementation
public func RondoCFMessagePortGetContext(
  _ port: UnsafeMutableRawPointer?, _ context: UnsafeMutablePointer<CFMessagePortContext>?
) {
  guard let port = unsafe object(port, MessagePortObject.self), let context = unsafe context else { return }
  var given = unsafe CFMessagePortContext()
  if let info = port.info {
    unsafe given.info = info.pointer
    unsafe given.retain = info.retain
    unsafe given.release = info.release
    unsafe given.copyDescription = info.describe
  }
  unsafe context.pointee = given
}

@c @implementation
public func RondoCFMessagePortInvalidate(_ port: UnsafeMutableRawPointer?) {
  unsafe object(port, MessagePortObject.self)?.invalidate()
}

@c @implementation
public func RondoCFMessagePortIsValid(_ port: UnsafeMutableRawPointer?) -> Bool {
  unsafe object(port, MessagePortObject.self)?.isValid ?? false
}

@c @implementation
public func RondoCFMessagePortGetInvalidationCallBack(
  _ port: UnsafeMutableRawPointer?
) -> CFMessagePortInvalidationCallBack? {
  unsafe object(port, MessagePortObject.self)?.invalidationCallBack
}

@c @implementation
public func RondoCFMessagePortSetInvalidationCallBack(
  _ port: UnsafeMutableRawPointer?, _ callout: CFMessagePortInvalidationCallBack?
) {
  unsafe object(port, MessagePortObject.self)?.invalidationCallBack = callout
}

@c @implementation
public func RondoCFMessagePortSendRequest(
  _ remote: UnsafeMutableRawPointer?, _ identifier: Int32, _ data: UnsafeRawPointer?, _ sendTimeout: CFTimeInterval,
  _ receiveTimeout: CFTimeInterval, _ replyMode: UnsafeRawPointer?,
  _ answer: UnsafeMutablePointer<UnsafeRawPointer?>?
) -> Int32 {
  unsafe answer?.pointee = nil
  guard let port = unsafe object(remote, MessagePortObject.self), case .remote(let sender) = port.end, port.isValid
  else { return Int32(kCFMessagePortIsInvalid) }
  let bytes = unsafe object(data, DataObject.self).map { unsafe Array($0.bytes) } ?? []
  let room = Duration(rounding: max(sendTimeout, 0))
  do throws(MessagePortError) {
    guard let mode = unsafe mode(replyMode) else {
      try sender.send(bytes, identifier: identifier, timeout: room)
      return Int32(kCFMessagePortSuccess)
    }
    let reply = try sender.request(
      bytes, identifier: identifier, sendTimeout: room, replyTimeout: Duration(rounding: max(receiveTimeout, 0)),
      running: mode)
    if let reply { unsafe answer?.pointee = UnsafeRawPointer(DataObject(reply).owned) }
    return Int32(kCFMessagePortSuccess)
  } catch {
    return code(of: error, port)
  }
}

/// CFMessagePortSendRequest's number for it. Calls out.
private func code(of error: MessagePortError, _ port: MessagePortObject) -> Int32 {
  switch error {
  case .sendTimedOut: return Int32(kCFMessagePortSendTimeout)
  case .replyTimedOut: return Int32(kCFMessagePortReceiveTimeout)
  case .invalid: return Int32(kCFMessagePortIsInvalid)
  case .peerGone, .refused:
    port.invalidate()
    return Int32(kCFMessagePortBecameInvalidError)
  default: return Int32(kCFMessagePortTransportError)
  }
}

@c @implementation
public func RondoCFMessagePortCreateRunLoopSource(
  _ allocator: UnsafeRawPointer?, _ local: UnsafeMutableRawPointer?, _ order: CFIndex
) -> UnsafeMutableRawPointer? {
  unsafe object(local, MessagePortObject.self)?.source(order: order)?.owned
}
