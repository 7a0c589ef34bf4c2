internal import CRondo
import Rondo

/// What a timer calls.
@safe final class TimerCall: Call, @unchecked Sendable {
  /// *constant*
  private let call: rondo_timer_call

  init(
    _ call: rondo_timer_call, _ context: UnsafeMutableRawPointer?, _ destroy: rondo_call?
  ) throws(rondo_error) {
    unsafe self.call = unsafe call
    unsafe try super.init(context, destroy)
  }

  /// Calls out.
  func fire(_ tick: Loop.Timer.Tick) {
    var seen = rondo_tick(
      scheduled: tick.scheduledAt.nanoseconds, actual: tick.firedAt.nanoseconds, missed: UInt64(tick.missed))
    unsafe call(pointer, &seen, context)
  }
}

/// What a signalled source calls.
@safe final class SourceCall: Call, @unchecked Sendable {
  /// *constant*
  private let call: rondo_source_call
  /// *constant*
  private let scheduled: rondo_source_mode_call?
  /// *constant*
  private let cancelled: rondo_source_mode_call?

  init(
    _ call: rondo_source_call, _ schedule: rondo_source_mode_call?, _ cancel: rondo_source_mode_call?,
    _ context: UnsafeMutableRawPointer?, _ destroy: rondo_call?
  ) throws(rondo_error) {
    unsafe self.call = unsafe call
    unsafe scheduled = unsafe schedule
    unsafe cancelled = unsafe cancel
    unsafe try super.init(context, destroy)
  }

  /// Calls out.
  @inline(__always)
  func perform() { unsafe call(pointer, context) }

  /// Calls out.
  func schedule(_ loop: Loop, _ mode: Loop.Mode) { unsafe tell(scheduled, loop, mode) }

  /// Calls out.
  func cancel(_ loop: Loop, _ mode: Loop.Mode) { unsafe tell(cancelled, loop, mode) }

  private func tell(_ call: rondo_source_mode_call?, _ loop: Loop, _ mode: Loop.Mode) {
    guard let call = unsafe call else { return }
    let handle = unsafe try? LoopHandle.handle(of: loop)
    unsafe mode.rawValue.withCString { unsafe call(pointer, handle, $0, context) }
  }
}

/// What a descriptor source calls.
@safe final class DescriptorCall: Call, @unchecked Sendable {
  /// *constant*
  private let call: rondo_descriptor_call

  init(
    _ call: rondo_descriptor_call, _ context: UnsafeMutableRawPointer?, _ destroy: rondo_call?
  ) throws(rondo_error) {
    unsafe self.call = unsafe call
    unsafe try super.init(context, destroy)
  }

  /// Calls out.
  func tell(_ source: Loop.DescriptorSource, _ readiness: Loop.DescriptorSource.Readiness) {
    unsafe call(pointer, source.descriptor, CUnsignedInt(readiness.rawValue), context)
  }
}

/// What an observer calls.
@safe final class ObserverCall: Call, @unchecked Sendable {
  /// *constant*
  private let call: rondo_observer_call

  init(
    _ call: rondo_observer_call, _ context: UnsafeMutableRawPointer?, _ destroy: rondo_call?
  ) throws(rondo_error) {
    unsafe self.call = unsafe call
    unsafe try super.init(context, destroy)
  }

  /// Calls out.
  func tell(_ activity: Loop.Activity) { unsafe call(pointer, activity.rawValue, context) }
}
