// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The names are the symbols of the header.

public import CRondoCFPointers
import Rondo

// Timers.

@c @implementation
public func RondoCFRunLoopTimerGetTypeID() -> CFTypeID { TimerObject.typeID }

@c @implementation
public func RondoCFRunLoopTimerCreate(
  _ allocator: UnsafeRawPointer?, _ fireDate: CFAbsoluteTime, _ interval: CFTimeInterval, _ flags: CFOptionFlags,
  _ order: CFIndex, _ callout: CFRunLoopTimerCallBack?, _ context: UnsafeMutablePointer<CFRunLoopTimerContext>?
) -> UnsafeMutableRawPointer? {
  guard let callout = unsafe callout else { return nil }
  let given = unsafe context?.pointee ?? CFRunLoopTimerContext()
  let info = unsafe Info(given.info, given.retain, given.release, given.copyDescription)
  return unsafe TimerObject(at: fireDate, every: interval, order: order, callout, info).owned
}

@c @implementation
public func RondoCFRunLoopTimerCreateWithHandler(
  _ allocator: UnsafeRawPointer?, _ fireDate: CFAbsoluteTime, _ interval: CFTimeInterval, _ flags: CFOptionFlags,
  _ order: CFIndex, _ block: UnsafeMutableRawPointer?
) -> UnsafeMutableRawPointer? {
  guard let block = unsafe block else { return nil }
  let callout: CFRunLoopTimerCallBack = { unsafe rondo_cf_call_timer($1, $0) }
  return unsafe TimerObject(at: fireDate, every: interval, order: order, callout, Info(block: block)).owned
}

@c @implementation
public func RondoCFRunLoopContainsTimer(
  _ loop: UnsafeMutableRawPointer?, _ timer: UnsafeMutableRawPointer?, _ name: UnsafeRawPointer?
) -> Bool {
  guard let runLoop = unsafe runLoop(loop), let timer = unsafe object(timer, TimerObject.self),
    let mode = unsafe mode(name)
  else { return false }
  return runLoop.loop.contains(timer.item, in: mode)
}

@c @implementation
public func RondoCFRunLoopAddTimer(
  _ loop: UnsafeMutableRawPointer?, _ timer: UnsafeMutableRawPointer?, _ name: UnsafeRawPointer?
) {
  guard let runLoop = unsafe runLoop(loop), let timer = unsafe object(timer, TimerObject.self),
    let mode = unsafe mode(name)
  else { return }
  timer.add(to: runLoop, mode)
}

@c @implementation
public func RondoCFRunLoopRemoveTimer(
  _ loop: UnsafeMutableRawPointer?, _ timer: UnsafeMutableRawPointer?, _ name: UnsafeRawPointer?
) {
  guard let runLoop = unsafe runLoop(loop), let timer = unsafe object(timer, TimerObject.self),
    let mode = unsafe mode(name)
  else { return }
  timer.remove(from: runLoop, mode)
}

@c @implementation
public func RondoCFRunLoopTimerGetNextFireDate(_ timer: UnsafeMutableRawPointer?) -> CFAbsoluteTime {
  unsafe object(timer, TimerObject.self)?.fireDate ?? 0
}

@c @implementation
public func RondoCFRunLoopTimerSetNextFireDate(_ timer: UnsafeMutableRawPointer?, _ fireDate: CFAbsoluteTime) {
  unsafe object(timer, TimerObject.self)?.fireDate = fireDate
}

@c @implementation
public func RondoCFRunLoopTimerGetInterval(_ timer: UnsafeMutableRawPointer?) -> CFTimeInterval {
  unsafe object(timer, TimerObject.self)?.interval ?? 0
}

@c @implementation
public func RondoCFRunLoopTimerDoesRepeat(_ timer: UnsafeMutableRawPointer?) -> Bool {
  unsafe (object(timer, TimerObject.self)?.interval ?? 0) > 0
}

@c @implementation
public func RondoCFRunLoopTimerGetOrder(_ timer: UnsafeMutableRawPointer?) -> CFIndex {
  unsafe object(timer, TimerObject.self)?.order ?? 0
}

@c @implementation
public func RondoCFRunLoopTimerInvalidate(_ timer: UnsafeMutableRawPointer?) {
  unsafe object(timer, TimerObject.self)?.invalidate()
}

@c @implementation
public func RondoCFRunLoopTimerIsValid(_ timer: UnsafeMutableRawPointer?) -> Bool {
  unsafe object(timer, TimerObject.self)?.isValid ?? false
}

@c @implementation
public func RondoCFRunLoopTimerGetTolerance(_ timer: UnsafeMutableRawPointer?) -> CFTimeInterval {
  unsafe object(timer, TimerObject.self)?.tolerance ?? 0
}

@c @implementation
public func RondoCFRunLoopTimerSetTolerance(_ timer: UnsafeMutableRawPointer?, _ tolerance: CFTimeInterval) {
  unsafe object(timer, TimerObject.self)?.tolerance = tolerance
}

@c @implementation
public func RondoCFRunLoopTimerGetContext(
  _ timer: UnsafeMutableRawPointer?, _ context: UnsafeMutablePointer<CFRunLoopTimerContext>?
) {
  guard let timer = unsafe object(timer, TimerObject.self), let context = unsafe context else { return }
  var given = unsafe CFRunLoopTimerContext()
  if let info = timer.info {
    unsafe given.info = info.pointer
    unsafe given.retain = info.retain
    unsafe given.release = info.release
    unsafe given.copyDescription = info.describe
  }
  unsafe context.pointee = given
}
