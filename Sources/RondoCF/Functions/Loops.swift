// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The names are the symbols of the header.

public import CRondoCFPointers
import Glibc
import Rondo
import RondoSockets
import Synchronization

// Loops: finding, running, stopping, waking, and their modes.

@c @implementation
public func RondoCFRunLoopGetTypeID() -> CFTypeID { RunLoopObject.typeID }

@c @implementation
public func RondoCFRunLoopGetCurrent() -> UnsafeMutableRawPointer? {
  unsafe RunLoopObject.of(Loop.current).pointer
}

@c @implementation
public func RondoCFRunLoopGetMain() -> UnsafeMutableRawPointer? {
  unsafe RunLoopObject.of(Loop.main).pointer
}

@c @implementation
public func RondoCFRunLoopCopyCurrentMode(_ loop: UnsafeMutableRawPointer?) -> UnsafeRawPointer? {
  guard let mode = unsafe runLoop(loop)?.loop.currentMode else { return nil }
  return unsafe UnsafeRawPointer(StringObject(mode.rawValue).owned)
}

@c @implementation
public func RondoCFRunLoopCopyAllModes(_ loop: UnsafeMutableRawPointer?) -> UnsafeRawPointer? {
  guard let loop = unsafe runLoop(loop)?.loop else { return nil }
  return unsafe UnsafeRawPointer(ArrayObject(loop.modes.map { StringObject($0.rawValue) }).owned)
}

@c @implementation
public func RondoCFRunLoopAddCommonMode(_ loop: UnsafeMutableRawPointer?, _ name: UnsafeRawPointer?) {
  guard let runLoop = unsafe runLoop(loop), let mode = unsafe mode(name), mode != .common else { return }
  if runLoop.admits(mode) { _ = runLoop.loop.addCommonMode(mode, onlyIfRoom: true) }
}

@c @implementation
public func RondoCFRunLoopGetNextTimerFireDate(
  _ loop: UnsafeMutableRawPointer?, _ name: UnsafeRawPointer?
) -> CFAbsoluteTime {
  guard let runLoop = unsafe runLoop(loop), let mode = unsafe mode(name), mode != .common,
    let next = runLoop.loop.nextFireDate(in: mode)
  else { return 0 }
  if let timer = runLoop.timer(at: next, in: mode) { return timer.fireDate }
  return absoluteTime + runLoop.loop.clock.now.duration(to: next).seconds
}

// MARK: - Runs

@c @implementation
public func RondoCFRunLoopRun() {
  Loop.current.run()
}

@c @implementation
public func RondoCFRunLoopRunInMode(
  _ name: UnsafeRawPointer?, _ seconds: CFTimeInterval, _ returnAfterSourceHandled: Bool
) -> CFRunLoopRunResult {
  guard let mode = unsafe mode(name), mode != .common else {
    if !commonModeWasRun.exchange(true, ordering: .relaxed) {
      warn("CFRunLoopRunInMode needs a mode, and kCFRunLoopCommonModes is none: the run is finished.")
    }
    return .finished
  }
  let loop = Loop.current
  let result: Loop.RunResult
  if seconds > 504_911_232 || seconds.isNaN {
    result = loop.run(in: mode, returnAfterSourceHandled: returnAfterSourceHandled)
  } else {
    let duration = seconds > 0 ? Duration(rounding: seconds) : .zero
    result = loop.run(in: mode, for: duration, returnAfterSourceHandled: returnAfterSourceHandled)
  }
  switch result {
  case .finished: return .finished
  case .stopped: return .stopped
  case .timedOut: return .timedOut
  case .handledSource: return .handledSource
  }
}

/// Said once.
private let commonModeWasRun = Atomic<Bool>(false)

@c @implementation
public func RondoCFRunLoopIsWaiting(_ loop: UnsafeMutableRawPointer?) -> Bool {
  unsafe runLoop(loop)?.loop.isWaiting ?? false
}

@c @implementation
public func RondoCFRunLoopWakeUp(_ loop: UnsafeMutableRawPointer?) {
  unsafe runLoop(loop)?.loop.wakeUp()
}

@c @implementation
public func RondoCFRunLoopStop(_ loop: UnsafeMutableRawPointer?) {
  unsafe runLoop(loop)?.loop.stop()
}

// MARK: - Blocks

@c @implementation
public func RondoCFRunLoopPerformBlock(
  _ loop: UnsafeMutableRawPointer?, _ modes: UnsafeRawPointer?, _ block: UnsafeMutableRawPointer?
) {
  guard let runLoop = unsafe runLoop(loop), let block = unsafe block else { return }
  let names: [Loop.Mode]
  if let mode = unsafe mode(modes) {
    names = [mode]
  } else if let array = unsafe object(modes, ArrayObject.self) {
    names = unsafe array.values.compactMap { unsafe mode($0) }
  } else {
    return
  }
  guard names.allSatisfy({ runLoop.admits($0) }) else { return }
  let kept = unsafe KeptBlock(block)
  runLoop.loop.perform(in: names, waking: false) { kept.call() }
}

/// A block that is released with the last one to hold it, run or not.
@safe private final class KeptBlock: @unchecked Sendable {
  private let block: UnsafeMutableRawPointer?

  init(_ block: UnsafeMutableRawPointer) {
    unsafe self.block = rondo_cf_block_copy(block)
  }

  deinit {
    unsafe rondo_cf_block_release(block)
  }

  /// Calls out.
  func call() {
    unsafe rondo_cf_call(block)
  }
}

// MARK: - Support

/// The loop that C or Swift has named.
func runLoop(_ loop: UnsafeMutableRawPointer?) -> RunLoopObject? {
  unsafe object(loop, RunLoopObject.self)
}
