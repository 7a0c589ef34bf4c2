import CLinux
import Rondo

/// A run of Foundation's loop around each run of Rondo's, in a mode in which nothing else ever is. *loop thread*
///
/// Foundation's loop drops a wakeup that comes while it does not run, so that a sleep outside of its runs would miss what
/// other threads signal in it. Within this run wakeups are kept: they are in the port set of every mode. Rondo's run is in
/// an observer of its entry, which is called before anything is served, and costs Foundation a look when it is over.
final class FoundationHost {
  private let foundation: CFRunLoop
  private let mode: CFString
  /// Never signalled. An empty mode is not run.
  private let keeper: CFRunLoopSource
  /// One for each level of nesting: an observer is not called while it is in its callout.
  private var observers: [CFRunLoopObserver] = []
  /// The run that is about to begin.
  private var next: (() -> Void)?
  /// The depths of Rondo's runs under way, the innermost last.
  private var depths: [Int] = []

  init?(_ foundation: CFRunLoop) {
    var context = unsafe CFRunLoopSourceContext()
    guard let mode = CFStringMake("RondoFoundation"), let keeper = unsafe CFRunLoopSourceCreate(&context) else {
      return nil
    }
    (self.foundation, self.mode, self.keeper) = (foundation, mode, keeper)
    CFRunLoopAddSource(foundation, keeper, mode)
  }

  /// Whether Rondo's run of that depth has one of Foundation's around it, and no other run of Foundation's between them.
  func encloses(_ depth: Int) -> Bool { depths.last == depth }

  /// Calls `run` within a run of Foundation's. Calls out.
  ///
  /// - Parameter depth: That of Rondo's run.
  /// - Returns: False if it was not called.
  func enclose(_ depth: Int, _ run: () -> Void) -> Bool {
    guard depths.count < observers.count || addObserver() else { return false }
    return withoutActuallyEscaping(run) { run in
      next = run
      depths.append(depth)
      _ = CFRunLoopRunInMode(mode, 0, true)
      depths.removeLast()
      return next.take() == nil
    }
  }

  private func addObserver() -> Bool {
    let made = CFRunLoopObserverCreate(.entry, order: 0) { [unowned self] _ in next.take()?() }
    guard let made else { return false }
    CFRunLoopAddObserver(foundation, made, mode)
    observers.append(made)
    return true
  }

  func end() {
    for observer in observers { CFRunLoopObserverInvalidate(observer) }
    CFRunLoopSourceInvalidate(keeper)
  }
}
