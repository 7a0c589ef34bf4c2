internal import CLinux
import Rondo
import Synchronization

/// Calls the watcher to a loop that it does not look at, if the loop stays awake.
///
/// It is a timerfd of the watcher's. The loop arms it when it wakes and disarms it when it goes to sleep, while the
/// watcher is parked: so the watcher sleeps beside loops that are seldom awake, and then for moments.
@safe final class StallAlarm: @unchecked Sendable {
  /// *atomic* The timerfd; -1 before it is made, and where no descriptor was left for it.
  private let descriptor = Atomic<CInt>(-1)
  /// *atomic* Nanoseconds from waking until it rings.
  private let delay = Atomic<Int64>(.max)
  /// *atomic* How often the watcher was parked.
  private let parkings = Atomic<UInt32>(0)
  /// *loop thread* The parking that it is armed for; 0 while it is disarmed.
  @safe @exclusivity(unchecked) private var armed: UInt32 = 0
  /// *loop thread* How often the loop wakes while it arms.
  @safe @exclusivity(unchecked) private var pace = WakePace()
  /// *watcher's thread*
  @safe @exclusivity(unchecked) private var source: Loop.DescriptorSource?

  deinit {
    source?.invalidate()
  }

  // MARK: - The watcher's thread

  /// The watcher stops looking. The alarm rings `delay` nanoseconds after the loop has woken.
  ///
  /// - Parameter isFirst: No other monitor has parked here: a delay of before does not count.
  func park(delay: Int64, isFirst: Bool, ring: @escaping @Sendable () -> Void) {
    if source?.isValid != true { make(ring) }
    let present = isFirst ? .max : self.delay.load(ordering: .relaxed)
    self.delay.store(min(present, delay), ordering: .relaxed)
    parkings.add(1, ordering: .releasing)
  }

  private func make(_ ring: @escaping @Sendable () -> Void) {
    let timer = rondo_timerfd()
    guard timer >= 0 else { return }
    let made = try? Loop.DescriptorSource(timer, for: .read, closesOnInvalidation: true) { _, _ in
      // It is readable until it is armed again.
      _ = rondo_timerfd_arm(timer, 0)
      ring()
    }
    guard let made else { return }
    made.name = "stall alarm"
    source = made
    Loop.current.add(made)
    descriptor.store(timer, ordering: .releasing)
  }

  // MARK: - The loop's thread

  /// The loop has woken.
  ///
  /// - Returns: False if the watcher has to be called at once: there is no alarm to arm, or the loop wakes often.
  func arm(at now: Int64) -> Bool {
    let timer = descriptor.load(ordering: .acquiring)
    let delay = delay.load(ordering: .relaxed)
    guard timer >= 0, !pace.wakesOften(at: now, in: delay) else { return false }
    armed = parkings.load(ordering: .acquiring)
    return rondo_timerfd_arm(timer, now + delay) == 0
  }

  /// Whether it is armed since the watcher was parked.
  @inline(__always)
  var isArmed: Bool { armed != 0 && armed == parkings.load(ordering: .relaxed) }

  /// The loop goes to sleep.
  @inline(__always)
  func disarm() {
    if armed != 0 { disarmPresent() }
  }

  @inline(never)
  private func disarmPresent() {
    armed = 0
    _ = rondo_timerfd_arm(descriptor.load(ordering: .relaxed), 0)
  }
}
