// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The names are the symbols of the header.

public import CRondoCFPointers
import Rondo
import RondoPorts
import RondoSockets

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
  guard let callout = unsafe callout, unsafe name == nil || object(name, StringObject.self) != nil else { return nil }
  let given = unsafe context?.pointee ?? CFMessagePortContext()
  do throws(MessagePortError) {
    let (port, isNew) = unsafe try MessagePortObject.local(object(name), callout) {
      unsafe Info(given.info, given.retain, given.release, given.copyDescription)
    }
    unsafe shouldFreeInfo?.pointee = !isNew
    return unsafe port.owned
  } catch {
    warn("CFMessagePortCreateLocal: \(error)")
    return nil
  }
}

@c @implementation
public func RondoCFMessagePortCreateRemote(
  _ allocator: UnsafeRawPointer?, _ name: UnsafeRawPointer?
) -> UnsafeMutableRawPointer? {
  guard let name = unsafe object(name, StringObject.self) else { return nil }
  do throws(MessagePortError) {
    return unsafe try MessagePortObject.remote(name).owned
  } catch {
    if case .notFound = error { return nil }
    warn("CFMessagePortCreateRemote: \(error)")
    return nil
  }
}

@c @implementation
public func RondoCFMessagePortIsRemote(_ port: UnsafeMutableRawPointer?) -> Bool {
  unsafe object(port, MessagePortObject.self)?.isRemote ?? false
}

@c @implementation
public func RondoCFMessagePortGetName(_ port: UnsafeMutableRawPointer?) -> UnsafeRawPointer? {
  unsafe object(port, MessagePortObject.self)?.name.map { unsafe UnsafeRawPointer($0.pointer) }
}

@c @implementation
public func RondoCFMessagePortSetName(_ port: UnsafeMutableRawPointer?, _ name: UnsafeRawPointer?) -> Bool {
  guard let port = unsafe object(port, MessagePortObject.self), let name = unsafe object(name, StringObject.self)
  else { return false }
  do throws(MessagePortError) {
    return try port.rename(name)
  } catch {
    warn("CFMessagePortSetName: \(error)")
    return false
  }
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

@c @implementation
public func RondoCFMessagePortSetDispatchQueue(
  _ local: UnsafeMutableRawPointer?, _ queue: UnsafeMutableRawPointer?
) {
  unsafe object(local, MessagePortObject.self)?.receive(on: queue.map { unsafe DispatchQueueReference($0) })
}
