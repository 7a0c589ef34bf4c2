import CRondoInspect
import Glibc

/// A thread of this process at a moment: what it does, and its stack.
package struct ThreadSample: Sendable {
  package let activity: ThreadActivity
  /// Its stack, without symbols: those take a tenth of a second or more.
  let stack: StackTrace

  /// The functions of the stack with their symbols, which take a tenth of a second or more.
  package var functions: [StackFrame] { stack.frames }

  /// Where the functions of the stack are: the same for the same place in a program, and known at once.
  package var addresses: [UInt64] { stack.addresses }

  /// The calling thread's own stack, without the function itself, by backtrace(3).
  @inline(never) package static func ofCallingThread() -> ThreadSample {
    let places = unsafe withUnsafeTemporaryAllocation(of: UnsafeMutableRawPointer?.self, capacity: 64) { frames in
      let count = unsafe backtrace(frames.baseAddress!, CInt(frames.count))
      return unsafe frames.prefix(Int(count)).dropFirst().map { UInt64(UInt(bitPattern: $0)) }
    }
    return ThreadSample(
      activity: .running, stack: StackTrace(places.map { StackWalk.Step(address: $0, kind: .caller) }))
  }

  /// Looks at a thread, not the calling one. A blocked thread is not disturbed; a running one is stopped by a signal for
  /// as long as it takes to read its stack.
  static func take(of thread: Int32) -> ThreadSample {
    let (activity, place) = ThreadState.activity(of: thread)
    switch activity {
    case .blocked:
      guard let place, let map = MemoryMap.capture() else {
        return ThreadSample(activity: activity, stack: StackTrace([]))
      }
      let steps = StackWalk(map).steps(pc: place.pc, sp: place.sp, fp: nil)
      // The thread may have gone on during the walk, and then what was read is of two moments.
      if ThreadState.activity(of: thread).1 == place {
        return ThreadSample(activity: activity, stack: StackTrace(steps))
      }
      return stopping(thread)
    case .running: return stopping(thread)
    case .stopped, .unknown: return ThreadSample(activity: activity, stack: StackTrace([]))
    }
  }

  private static func stopping(_ thread: Int32) -> ThreadSample {
    // It would be waited for in vain, and the signal would stay pending.
    if ThreadState.blocks(rondo_sample_signal, thread) {
      return ThreadSample(activity: .running, stack: StackTrace([]))
    }
    guard let map = MemoryMap.capture() else { return ThreadSample(activity: .running, stack: StackTrace([])) }
    var registers = rondo_registers()
    guard unsafe rondo_stop_thread(thread, &registers) == 0 else {
      return ThreadSample(activity: .running, stack: StackTrace([]))
    }
    let steps = StackWalk(map).steps(pc: registers.pc, sp: registers.sp, fp: registers.fp)
    rondo_release_thread()
    return ThreadSample(activity: .running, stack: StackTrace(steps))
  }
}
