// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The names are the symbols of the header.

public import CRondoCFPointers
import Rondo

// Observers.

@c @implementation
public func RondoCFRunLoopObserverGetTypeID() -> CFTypeID { ObserverObject.typeID }

@c @implementation
public func RondoCFRunLoopObserverCreate(
  _ allocator: UnsafeRawPointer?, _ activities: CFOptionFlags, _ repeats: Bool, _ order: CFIndex,
  _ callout: CFRunLoopObserverCallBack?, _ context: UnsafeMutablePointer<CFRunLoopObserverContext>?
) -> UnsafeMutableRawPointer? {
  guard let callout = unsafe callout else { return nil }
  let given = unsafe context?.pointee ?? CFRunLoopObserverContext()
  let info = unsafe Info(given.info, given.retain, given.release, given.copyDescription)
  return unsafe ObserverObject(activities, repeats: repeats, order: order, callout, info).owned
}

@c @implementation
public func RondoCFRunLoopObserverCreateWithHandler(
  _ allocator: UnsafeRawPointer?, _ activities: CFOptionFlags, _ repeats: Bool, _ order: CFIndex,
  _ block: UnsafeMutableRawPointer?
) -> UnsafeMutableRawPointer? {
  guard let block = unsafe block else { return nil }
  let callout: CFRunLoopObserverCallBack = { unsafe rondo_cf_call_observer($2, $0, $1) }
  return unsafe ObserverObject(activities, repeats: repeats, order: order, callout, Info(block: block)).owned
}

@c @implementation
public func RondoCFRunLoopContainsObserver(
  _ loop: UnsafeMutableRawPointer?, _ observer: UnsafeMutableRawPointer?, _ name: UnsafeRawPointer?
) -> Bool {
  guard let runLoop = unsafe runLoop(loop), let observer = unsafe object(observer, ObserverObject.self),
    let mode = unsafe mode(name)
  else { return false }
  return runLoop.loop.contains(observer.item, in: mode)
}

@c @implementation
public func RondoCFRunLoopAddObserver(
  _ loop: UnsafeMutableRawPointer?, _ observer: UnsafeMutableRawPointer?, _ name: UnsafeRawPointer?
) {
  guard let runLoop = unsafe runLoop(loop), let observer = unsafe object(observer, ObserverObject.self),
    let mode = unsafe mode(name)
  else { return }
  observer.add(to: runLoop, mode)
}

@c @implementation
public func RondoCFRunLoopRemoveObserver(
  _ loop: UnsafeMutableRawPointer?, _ observer: UnsafeMutableRawPointer?, _ name: UnsafeRawPointer?
) {
  guard let runLoop = unsafe runLoop(loop), let observer = unsafe object(observer, ObserverObject.self),
    let mode = unsafe mode(name)
  else { return }
  observer.remove(from: runLoop, mode)
}

@c @implementation
public func RondoCFRunLoopObserverGetActivities(_ observer: UnsafeMutableRawPointer?) -> CFOptionFlags {
  unsafe object(observer, ObserverObject.self)?.activities ?? 0
}

@c @implementation
public func RondoCFRunLoopObserverDoesRepeat(_ observer: UnsafeMutableRawPointer?) -> Bool {
  unsafe object(observer, ObserverObject.self)?.repeats ?? false
}

@c @implementation
public func RondoCFRunLoopObserverGetOrder(_ observer: UnsafeMutableRawPointer?) -> CFIndex {
  unsafe object(observer, ObserverObject.self)?.order ?? 0
}

@c @implementation
public func RondoCFRunLoopObserverInvalidate(_ observer: UnsafeMutableRawPointer?) {
  unsafe object(observer, ObserverObject.self)?.invalidate()
}

@c @implementation
public func RondoCFRunLoopObserverIsValid(_ observer: UnsafeMutableRawPointer?) -> Bool {
  unsafe object(observer, ObserverObject.self)?.isValid ?? false
}

@c @implementation
public func RondoCFRunLoopObserverGetContext(
  _ observer: UnsafeMutableRawPointer?, _ context: UnsafeMutablePointer<CFRunLoopObserverContext>?
) {
  guard let observer = unsafe object(observer, ObserverObject.self), let context = unsafe context else { return }
  var given = unsafe CFRunLoopObserverContext()
  if let info = observer.info {
    unsafe given.info = info.pointer
    unsafe given.retain = info.retain
    unsafe given.release = info.release
    unsafe given.copyDescription = info.describe
  }
  unsafe context.pointee = given
}
