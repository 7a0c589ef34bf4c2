internal import CLinux
internal import CoreFoundation
internal import Glibc
internal import Synchronization

/// Compares for which date CFRunLoop has set a mode's timer descriptor with the date of the mode's next timer.
///
/// CFRunLoop arms in the mode whose timer fires or changes, for what is next there. A timer that is in its callout, was
/// moved or has left may still stand for another mode: that mode then wakes for nothing (Q8), or not at all (Q11).
final class CFTimerWatch: Sendable {
  private nonisolated(unsafe) let loop: CFRunLoop
  private let state = Mutex(State())
  /// Held while the loop describes itself, and while anybody changes it: it describes without a lock of its own. A
  /// change may call back and change more.
  private let describing = RecursiveLock()

  private struct State {
    /// Each mode's timer descriptor.
    var ports: [String: CInt] = [:]
    /// The timers in their callouts.
    var firing: [String] = []
    /// Each timer's modes, but for the one that every mode keeps and nothing touches.
    var modes: [String: Set<String>] = [:]
    /// Whether a timer has been in more than one mode; before, nothing can go wrong.
    var isNeeded = false
  }

  init(_ loop: CFRunLoop) { unsafe self.loop = loop }

  func added(_ name: String, to mode: String) {
    guard name != Generator.keptTimer else { return }
    state.withLock {
      $0.modes[name, default: []].insert(mode)
      $0.isNeeded = $0.isNeeded || mode == "C" || $0.modes[name]!.count > 1
    }
  }

  /// Asks the loop for its descriptors, which takes a while; before time counts.
  func prepare() {
    let isNeeded = state.withLock { $0.isNeeded && $0.ports.isEmpty }
    guard isNeeded else { return }
    let ports = timerPorts
    state.withLock { $0.ports = ports }
  }

  /// Each mode's timer descriptor, as the loop describes itself.
  private var timerPorts: [String: CInt] {
    describing.withLock { unsafe CFNames.timerPorts(of: loop) }
  }

  /// Makes a change that must not meet a description on another thread.
  func undescribed(_ change: () -> Void) {
    describing.withLock(change)
  }

  func callout(_ name: String, _ body: () -> Void) {
    state.withLock { $0.firing.append(name) }
    body()
    state.withLock { _ = $0.firing.removeLast() }
  }

  func isFiring(_ name: String) -> Bool { state.withLock { $0.firing.contains(name) } }

  func isFiringOther(than name: String) -> Bool { state.withLock { $0.firing.contains { $0 != name } } }

  /// The quirk that the mode's next wait will show; nil while the descriptor says what the timers say.
  func quirk(in mode: String, _ timers: [(name: String, timer: CFRunLoopTimer)]) -> String? {
    let (isNeeded, firing) = state.withLock { ($0.isNeeded, $0.firing) }
    guard isNeeded else { return nil }
    let name = CFNames.mode(mode)
    let waiting = timers.filter {
      unsafe CFRunLoopTimerIsValid($0.timer) && CFRunLoopContainsTimer(loop, $0.timer, name)
        && !firing.contains($0.name)
    }
    var began: Double
    var due: Double
    var armed: Double?
    repeat {
      // Both are read within a moment, or again.
      began = Watch.milliseconds
      let now = CFAbsoluteTimeGetCurrent()
      due = waiting.map { max(0, CFRunLoopTimerGetNextFireDate($0.timer) - now) * 1e3 }.min() ?? .infinity
      armed = armedFor(mode)
    } while Watch.milliseconds - began > Self.slack / 2
    guard let armed else { return nil }
    if armed + Self.slack < due { return "Q8" }
    if due + Self.slack < armed { return "Q11" }
    return nil
  }

  /// Milliseconds. Scenarios keep instants three apart.
  private static let slack = 1.0

  /// In how many milliseconds the mode's descriptor will be readable.
  private func armedFor(_ mode: String) -> Double? {
    if state.withLock({ $0.ports[mode] == nil }) {
      let ports = timerPorts
      state.withLock { $0.ports = ports }
    }
    guard let port = state.withLock({ $0.ports[mode] }) else { return nil }
    var descriptor = pollfd(fd: port, events: Int16(POLLIN), revents: 0)
    if unsafe poll(&descriptor, 1, 0) == 1 { return 0 }
    var time = itimerspec()
    guard unsafe timerfd_gettime(port, &time) == 0 else { return nil }
    let left = Double(time.it_value.tv_sec) * 1e3 + Double(time.it_value.tv_nsec) / 1e6
    return left > 0 ? left : .infinity
  }
}
