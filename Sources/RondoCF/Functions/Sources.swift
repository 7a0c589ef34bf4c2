// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The names are the symbols of the header.

public import CRondoCFPointers
import Rondo
import RondoSockets

// Sources.

@c @implementation
public func RondoCFRunLoopSourceGetTypeID() -> CFTypeID { SourceObject.typeID }

@c @implementation
public func RondoCFRunLoopSourceCreate(
  _ allocator: UnsafeRawPointer?, _ order: CFIndex, _ context: UnsafeMutablePointer<CFRunLoopSourceContext>?
) -> UnsafeMutableRawPointer? {
  guard let context = unsafe context else { return nil }
  switch unsafe context.pointee.version {
  case 0: return unsafe SignalledSource(order: order, context.pointee).owned
  case 1:
    // It is shorter: no more than that of it may be read.
    let context = unsafe UnsafeRawPointer(context).load(as: CFRunLoopSourceContext1.self)
    return unsafe PolledSource(order: order, context).owned
  case let version:
    warn("CFRunLoopSourceCreate: a context has version 0 or 1, not \(version).")
    return nil
  }
}

@c @implementation
public func RondoCFRunLoopContainsSource(
  _ loop: UnsafeMutableRawPointer?, _ source: UnsafeMutableRawPointer?, _ name: UnsafeRawPointer?
) -> Bool {
  guard let runLoop = unsafe runLoop(loop), let source = unsafe object(source, SourceObject.self),
    let mode = unsafe mode(name)
  else { return false }
  return runLoop.member(equalTo: source, in: mode) != nil
}

@c @implementation
public func RondoCFRunLoopAddSource(
  _ loop: UnsafeMutableRawPointer?, _ source: UnsafeMutableRawPointer?, _ name: UnsafeRawPointer?
) {
  guard let runLoop = unsafe runLoop(loop), let source = unsafe object(source, SourceObject.self),
    let mode = unsafe mode(name)
  else { return }
  source.add(to: runLoop, mode)
}

@c @implementation
public func RondoCFRunLoopRemoveSource(
  _ loop: UnsafeMutableRawPointer?, _ source: UnsafeMutableRawPointer?, _ name: UnsafeRawPointer?
) {
  guard let runLoop = unsafe runLoop(loop), let source = unsafe object(source, SourceObject.self),
    let mode = unsafe mode(name)
  else { return }
  source.remove(from: runLoop, mode)
}

@c @implementation
public func RondoCFRunLoopSourceGetOrder(_ source: UnsafeMutableRawPointer?) -> CFIndex {
  unsafe object(source, SourceObject.self)?.order ?? 0
}

@c @implementation
public func RondoCFRunLoopSourceInvalidate(_ source: UnsafeMutableRawPointer?) {
  unsafe object(source, SourceObject.self)?.invalidate()
}

@c @implementation
public func RondoCFRunLoopSourceIsValid(_ source: UnsafeMutableRawPointer?) -> Bool {
  unsafe object(source, SourceObject.self)?.isValid ?? false
}

@c @implementation
public func RondoCFRunLoopSourceGetContext(
  _ source: UnsafeMutableRawPointer?, _ context: UnsafeMutablePointer<CFRunLoopSourceContext>?
) {
  guard let context = unsafe context else { return }
  if let source = unsafe object(source, ContextSource.self) {
    unsafe source.write(context)
  } else {
    unsafe context.pointee = CFRunLoopSourceContext()
  }
}

@c @implementation
public func RondoCFRunLoopSourceSignal(_ source: UnsafeMutableRawPointer?) {
  unsafe object(source, SourceObject.self)?.signal()
}
