import Dispatch
import Glibc

#if RONDO
  import RondoCoreFoundation
#else
  import CoreFoundation
#endif

/// What happened, in order. Times are told only as "not early": a busy machine is late.
final class Log {
  private let lock = DispatchSemaphore(value: 1)
  private var lines: [String] = []

  func note(_ line: String) {
    lock.wait()
    lines.append(line)
    lock.signal()
  }

  /// Prints what was noted since the last heading.
  func section(_ heading: String) {
    lock.wait()
    print("\(heading): \(lines.joined(separator: ", "))")
    lines = []
    lock.signal()
  }
}

let log = Log()
func note(_ line: String) { log.note(line) }

/// Runs `body` on a new thread, which has a run loop with nothing in it, and waits for the thread's end.
func onThread(_ body: @escaping () -> Void) {
  join(start(body))
}

func start(_ body: @escaping () -> Void) -> pthread_t {
  final class Box {
    let body: () -> Void
    init(_ body: @escaping () -> Void) { self.body = body }
  }
  var thread = pthread_t()
  pthread_create(
    &thread, nil,
    {
      Unmanaged<Box>.fromOpaque($0!).takeRetainedValue().body()
      return nil
    }, Unmanaged.passRetained(Box(body)).toOpaque())
  return thread
}

func join(_ thread: pthread_t) {
  pthread_join(thread, nil)
}

func text(_ name: String) -> CFString {
  CFStringCreateWithCString(nil, name, CFStringBuiltInEncodings.UTF8.rawValue)
}

func string(_ text: CFString?) -> String {
  guard let text = text else { return "nil" }
  var bytes = [CChar](repeating: 0, count: CFStringGetLength(text) * 4 + 1)
  guard CFStringGetCString(text, &bytes, bytes.count, CFStringBuiltInEncodings.UTF8.rawValue) else { return "?" }
  return String(cString: bytes)
}

func string(_ result: CFRunLoopRunResult) -> String {
  switch result {
  case .finished: return "finished"
  case .stopped: return "stopped"
  case .timedOut: return "timed out"
  case .handledSource: return "handled source"
  default: return "\(result.rawValue)"
  }
}

func string(_ activity: CFRunLoopActivity) -> String {
  switch activity {
  case .entry: return "E"
  case .beforeTimers: return "BT"
  case .beforeSources: return "BS"
  case .beforeWaiting: return "BW"
  case .afterWaiting: return "AW"
  case .exit: return "X"
  default: return "\(activity.rawValue)"
  }
}

/// Runs a mode of the calling thread's loop, and notes why that was over.
@discardableResult
func run(_ mode: CFRunLoopMode, _ seconds: Double, _ one: Bool = false) -> CFRunLoopRunResult {
  let result = CFRunLoopRunInMode(mode, seconds, one)
  note(string(result))
  return result
}

/// The same for the default mode.
@discardableResult
func run(_ seconds: Double, _ one: Bool = false) -> CFRunLoopRunResult {
  run(kCFRunLoopDefaultMode, seconds, one)
}

/// A source that is never signalled, and so keeps a mode from being empty.
func makeKeeper() -> CFRunLoopSource {
  var context = CFRunLoopSourceContext()
  return CFRunLoopSourceCreate(nil, 0, &context)
}

/// Notes every phase of a mode.
@discardableResult
func observeAll(_ mode: CFRunLoopMode = kCFRunLoopDefaultMode) -> CFRunLoopObserver {
  let all = CFRunLoopActivity.allActivities.rawValue
  let observer = CFRunLoopObserverCreateWithHandler(nil, all, true, 0) { _, activity in note(string(activity)) }!
  CFRunLoopAddObserver(CFRunLoopGetCurrent(), observer, mode)
  return observer
}

/// A timer that fires once, or every `interval` seconds.
func makeTimer(
  after delay: Double, every interval: Double = 0, _ body: @escaping (CFRunLoopTimer?) -> Void
) -> CFRunLoopTimer {
  CFRunLoopTimerCreateWithHandler(nil, CFAbsoluteTimeGetCurrent() + delay, interval, 0, 0, body)
}
