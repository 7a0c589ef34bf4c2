// swift-format-ignore-file: AlwaysUseLowerCamelCase
// Core Foundation's names, as the bridge calls them. The module of that name must not be imported here: see CLinux.

import CLinux

/// On Linux an object of Core Foundation's is one of Swift's: references are counted alike.
typealias CFObject = AnyObject
typealias CFRunLoop = CFObject
typealias CFRunLoopSource = CFObject
typealias CFRunLoopObserver = CFObject
typealias CFString = CFObject

struct CFRunLoopActivity: OptionSet {
  let rawValue: UInt
  static let entry = CFRunLoopActivity(rawValue: 1 << 0)
  static let beforeTimers = CFRunLoopActivity(rawValue: 1 << 1)
  static let beforeWaiting = CFRunLoopActivity(rawValue: 1 << 5)
  static let afterWaiting = CFRunLoopActivity(rawValue: 1 << 6)
  static let exit = CFRunLoopActivity(rawValue: 1 << 7)
}

enum CFRunLoopRunResult: Int32 {
  case finished = 1
  case stopped, timedOut, handledSource
}

private func pointer(_ object: CFObject) -> UnsafeMutableRawPointer {
  unsafe Unmanaged.passUnretained(object).toOpaque()
}

/// An object that Core Foundation keeps.
private func kept(_ pointer: UnsafeRawPointer) -> CFObject {
  unsafe Unmanaged<CFObject>.fromOpaque(pointer).takeUnretainedValue()
}

/// An object that Core Foundation has made for the caller.
private func made(_ pointer: UnsafeMutableRawPointer?) -> CFObject? {
  guard let pointer = unsafe pointer else { return nil }
  return unsafe Unmanaged<CFObject>.fromOpaque(pointer).takeRetainedValue()
}

// MARK: - Loops

var kCFRunLoopDefaultMode: CFString { unsafe kept(rondo_core_default_mode) }
var kCFRunLoopCommonModes: CFString { unsafe kept(rondo_core_common_modes) }

func CFRunLoopGetCurrent() -> CFRunLoop { unsafe kept(rondo_core_current_loop()) }
func CFRunLoopGetMain() -> CFRunLoop { unsafe kept(rondo_core_main_loop()) }

/// Calls out. Nil for a result of a later Core Foundation.
func CFRunLoopRunInMode(_ mode: CFString, _ seconds: Double, _ returnsAfterSource: Bool) -> CFRunLoopRunResult? {
  CFRunLoopRunResult(rawValue: unsafe rondo_core_run(pointer(mode), seconds, returnsAfterSource ? 1 : 0))
}

func CFRunLoopWakeUp(_ loop: CFRunLoop) { unsafe rondo_core_wake_up(pointer(loop)) }

func CFRunLoopPerformBlock(_ loop: CFRunLoop, _ mode: CFString, _ block: @escaping () -> Void) {
  unsafe rondo_core_perform(pointer(loop), pointer(mode), block)
}

func CFStringMake(_ text: String) -> CFString? {
  let utf8: UInt32 = 0x0800_0100
  return unsafe made(rondo_core_make_string(nil, text, utf8))
}

// MARK: - Sources and observers

/// Of version 0, or of version 1 if the context has a port.
typealias CFRunLoopSourceContext = rondo_core_source_context

func CFRunLoopSourceCreate(_ context: inout CFRunLoopSourceContext) -> CFRunLoopSource? {
  unsafe made(rondo_core_make_source(nil, 0, &context))
}

func CFRunLoopAddSource(_ loop: CFRunLoop, _ source: CFRunLoopSource, _ mode: CFString) {
  unsafe rondo_core_add_source(pointer(loop), pointer(source), pointer(mode))
}

func CFRunLoopRemoveSource(_ loop: CFRunLoop, _ source: CFRunLoopSource, _ mode: CFString) {
  unsafe rondo_core_remove_source(pointer(loop), pointer(source), pointer(mode))
}

func CFRunLoopSourceSignal(_ source: CFRunLoopSource) { unsafe rondo_core_signal_source(pointer(source)) }
func CFRunLoopSourceInvalidate(_ source: CFRunLoopSource) { unsafe rondo_core_invalidate_source(pointer(source)) }

func CFRunLoopObserverCreate(
  _ activities: CFRunLoopActivity, order: Int, _ handler: @escaping (CFRunLoopActivity) -> Void
) -> CFRunLoopObserver? {
  unsafe made(
    rondo_core_make_observer(nil, activities.rawValue, 1, order) { _, activity in
      handler(CFRunLoopActivity(rawValue: activity))
    })
}

func CFRunLoopAddObserver(_ loop: CFRunLoop, _ observer: CFRunLoopObserver, _ mode: CFString) {
  unsafe rondo_core_add_observer(pointer(loop), pointer(observer), pointer(mode))
}

func CFRunLoopObserverInvalidate(_ observer: CFRunLoopObserver) {
  unsafe rondo_core_invalidate_observer(pointer(observer))
}
