internal import CRondo
import Glibc
import Rondo
import RondoInspect

/// A stall monitor's handle stands for this: a function of C with its context, and the monitor, which ends with it.
///
/// A report holds it during the call, so that the function may release the monitor. Sendable as `Call` is.
@safe final class StallCall: @unchecked Sendable {
  /// *constant*
  private let handle: UInt
  /// *constant*
  private let call: rondo_stall_call?
  /// *constant*
  private let context: UnsafeMutableRawPointer?
  /// *until it is shared*
  private var destroy: rondo_call?
  /// *constant once it is shared*
  private(set) var monitor: StallMonitor?

  init(
    _ limit: Int64, _ call: rondo_stall_call?, _ context: UnsafeMutableRawPointer?, _ destroy: rondo_call?
  ) throws(rondo_error) {
    handle = try HandleTable.shared.reserve()
    unsafe self.call = unsafe call
    unsafe self.context = unsafe context
    unsafe self.destroy = unsafe destroy
    do throws(LoopThread.StartError) {
      monitor = try StallMonitor(limit: .nanoseconds(limit)) { [weak self] stall in self?.tell(stall) }
    } catch {
      // The context stays its owner's.
      unsafe self.destroy = nil
      HandleTable.shared.abandon(handle)
      if case .noDescriptors(let errno) = error, errno != ENOMEM { throw RONDO_ERROR_SHORTAGE }
      throw RONDO_ERROR_MEMORY
    }
  }

  deinit {
    if let destroy = unsafe destroy { unsafe destroy(context) }
  }

  /// - Returns: The handle, with one reference.
  func publish() -> OpaquePointer? {
    HandleTable.shared.publish(handle, self, RONDO_STALL_MONITOR, isAnchored: false, isOwned: true)
    return unsafe OpaquePointer(bitPattern: handle)
  }

  /// Calls out, on the watcher's thread.
  private func tell(_ stall: Stall) {
    guard let call = unsafe call else { return StallMonitor.write(stall) }
    // The name of a posted call's block is of this library.
    let callout = stall.callouts.last.map { $0.kind == "block" ? "posted call" : "\($0)" } ?? ""
    let stack = stall.stack.map { "\($0)\n" }.joined()
    unsafe stall.loop.withCString { loop in
      unsafe callout.withCString { callout in
        unsafe stall.description.withCString { text in
          unsafe stack.withCString { stack in
            var seen = unsafe rondo_stall(
              loop: loop, callout: callout, text: text, stack: stack, duration: stall.duration.saturatingNanoseconds,
              unreported: UInt64(stall.unreported), thread: stall.thread, has_ended: stall.isOver ? 1 : 0)
            unsafe call(OpaquePointer(bitPattern: handle), &seen, context)
          }
        }
      }
    }
  }
}
