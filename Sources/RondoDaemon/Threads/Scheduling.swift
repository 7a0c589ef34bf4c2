internal import CRondoDaemon
import Glibc
public import Rondo

/// How the kernel schedules a loop's thread among the others. See sched(7).
public struct Scheduling: Hashable, Sendable {
  /// The share of a thread that competes, from -20 to 19; nil in real time.
  ///
  /// -20 is the largest share. In a request, nil keeps the present one.
  public let nice: Int?
  /// How long the thread runs before another one may; nil for the kernel's own.
  ///
  /// Nil in real time, too. A thread with a short slice is run sooner after it wakes. Its share of the processor stays the same.
  public let slice: Duration?
  /// The priority in real time, from 1 to 99; nil for a thread that competes.
  public let priority: Int?

  /// Competes with other threads.
  ///
  /// - Parameters:
  ///   - nice: From -20 to 19; nil keeps the present one. Less than that needs CAP_SYS_NICE or RLIMIT_NICE.
  ///   - slice: From 0.1 to 100 ms; Linux 6.12 or later, no privilege. Nil for the kernel's own.
  public static func competing(nice: Int? = nil, slice: Duration? = nil) -> Scheduling {
    if let nice { require(-20...19 ~= nice, "A nice level is from -20 to 19, not \(nice).") }
    if let slice { require(slices ~= slice, "A slice is from 0.1 to 100 ms, not \(slice).") }
    return Scheduling(nice: nice, slice: slice, priority: nil)
  }

  /// Competes with the shortest slice, 0.1 ms.
  ///
  /// The thread then runs soon after it wakes, also on a crowded processor.
  public static var responsive: Scheduling { competing(slice: slices.lowerBound) }

  /// Runs before every thread that competes, as long as it wants (SCHED_FIFO).
  ///
  /// A callout that does not return then keeps the processor. It needs CAP_SYS_NICE or RLIMIT_RTPRIO.
  public static func realTime(priority: Int = 1) -> Scheduling {
    require(1...99 ~= priority, "A priority in real time is from 1 to 99, not \(priority).")
    return Scheduling(nice: nil, slice: nil, priority: priority)
  }

  /// What the kernel takes.
  private static let slices: ClosedRange<Duration> = .microseconds(100) ... .milliseconds(100)
}

/// The reason why a thread's scheduling could not be changed.
public enum SchedulingError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kernel is older than Linux 6.12 and has no slices. Nothing was changed.
  case noSlices
  /// The process may not have this scheduling.
  case notPermitted(Scheduling)
  /// The loop has no thread yet, or none any more.
  case noThread
  /// The process may use none of these processors.
  case noProcessor(of: Set<Int>)
  /// The kernel's call failed for another reason: errno.
  case refused(errno: CInt)

  /// A sentence with the cause.
  public var description: String {
    switch self {
    case .noSlices: "the kernel has no slices of a thread's own: it is older than Linux 6.12"
    case .notPermitted(let scheduling):
      if let priority = scheduling.priority {
        "the process may not run in real time with priority \(priority): see RLIMIT_RTPRIO and CAP_SYS_NICE"
      } else {
        "the process may not have the nice level \(scheduling.nice ?? 0): see RLIMIT_NICE and CAP_SYS_NICE"
      }
    case .noThread: "the loop has no thread"
    case .noProcessor([]): "no processor was named for the thread"
    case .noProcessor(let processors):
      "the process may use none of these processors: \(processors.sorted().map(String.init).joined(separator: ", "))"
    case .refused(let errno): "the thread's scheduling could not be changed: \(describe(errno: errno))"
    }
  }

  /// - Parameter scheduling: What was asked for, if it was a scheduling.
  init(_ result: CInt, _ scheduling: Scheduling? = nil) {
    switch -result {
    case EPERM: self = scheduling.map { .notPermitted($0) } ?? .refused(errno: EPERM)
    case ENOTSUP: self = .noSlices
    case ESRCH: self = .noThread
    default: self = .refused(errno: -result)
    }
  }
}

extension Loop {
  /// Changes how the kernel schedules the loop's thread. Any thread. See sched_setattr(2).
  ///
  /// It holds for the thread, also after the loop's runs, until it is changed again. Threads that this one makes later
  /// inherit it.
  ///
  /// - Throws: Why the thread keeps its scheduling.
  public func setScheduling(_ scheduling: Scheduling) throws(SchedulingError) {
    let thread = try schedulableThread
    let slice = scheduling.slice.map { $0.components.attoseconds / 1_000_000_000 } ?? 0
    var wanted = rondo_scheduling(
      keeps_nice: scheduling.nice == nil ? 1 : 0, nice: CInt(scheduling.nice ?? 0),
      priority: CInt(scheduling.priority ?? 0), slice: slice)
    let result = unsafe rondo_schedule(thread, &wanted)
    if result != 0 { throw SchedulingError(result, scheduling) }
  }

  /// Returns how the kernel schedules the loop's thread. Any thread. See sched_getattr(2).
  package func scheduling() throws(SchedulingError) -> Scheduling {
    var found = rondo_scheduling()
    let result = unsafe rondo_scheduling_of(try schedulableThread, &found)
    if result != 0 { throw SchedulingError(result) }
    if found.priority > 0 { return .realTime(priority: Int(found.priority)) }
    let slice = Duration.nanoseconds(found.slice)
    return Scheduling(nice: Int(found.nice), slice: found.slice > 0 ? slice : nil, priority: nil)
  }

  /// 0 means the calling thread to the kernel.
  var schedulableThread: CInt {
    get throws(SchedulingError) {
      if isCurrent { return 0 }
      if isOfMainThread { return getpid() }
      // A thread that was made a moment ago has no number yet. It may need the processor of this one, which may be a
      // real-time thread: that would not leave it by yielding.
      while threadNumber == 0, !hasEnded { usleep(50) }
      guard !hasEnded else { throw .noThread }
      return threadNumber
    }
  }
}
