import CLinux
import Glibc
import Synchronization

/// The wake protocol on an atomic word, and the system call that ends a sleep.
///
/// Any thread may post; only the loop's thread prepares, sleeps, takes and closes.
final class Wakeup: Sendable {
  /// *atomic* Ordering: a poster writes its mail, then sets a bit and reads `asleep`; the loop's thread sets `asleep` and
  /// reads the bits, then looks at the mail. One of the two sees the other, so no wakeup is lost.
  private let word = Atomic<UInt32>(0)
  /// *constant* An eventfd that is always readable, watched edge-triggered and never read; -1 in virtual time.
  let descriptor: CInt
  /// *constant* What ends a sleep in virtual time. Any thread.
  private let onWake: @Sendable () -> Void
  /// *atomic* The epoll set that the loop sleeps in; stored before it says that it sleeps.
  private let epoll = Atomic<CInt>(-1)

  init(descriptor: CInt, onWake: @escaping @Sendable () -> Void = {}) {
    (self.descriptor, self.onWake) = (descriptor, onWake)
  }

  /// Runs one transition of the machine as a compare-exchange loop.
  @inline(__always)
  private func update<Result>(_ transition: (inout WakeProtocol) -> Result) -> Result {
    var old = word.load(ordering: .sequentiallyConsistent)
    while true {
      var machine = WakeProtocol(word: old)
      let result = transition(&machine)
      if machine.word == old { return result }
      let (exchanged, seen) = word.weakCompareExchange(
        expected: old, desired: machine.word, ordering: .sequentiallyConsistent)
      if exchanged { return result }
      old = seen
    }
  }

  /// Leaves `bits` for the loop and wakes it if it sleeps and `bits` say so. Any thread.
  ///
  /// - Returns: False if the loop's thread is gone.
  @inline(__always)
  @discardableResult
  func post(_ bits: WakeProtocol.Bits) -> Bool {
    let owed = announce(bits)
    if owed == .write { write() }
    return owed != .refused
  }

  /// The first half of `post(_:)`. The loop does not end while a write is owed.
  @inline(__always)
  func announce(_ bits: WakeProtocol.Bits) -> WakeProtocol.PostAction { update { $0.post(bits) } }

  /// The second half, of a poster that owes a write. It touches nothing of the loop's afterwards.
  func write() {
    if descriptor < 0 { return tell() }
    wake()
    if update({ $0.wrote() }) { unsafe rondo_futex_wake(word.address()) }
  }

  /// The same in virtual time, where others may overtake the poster in `onWake`: it owes nothing any more then.
  private func tell() {
    let onWake = onWake
    if update({ $0.wrote() }) { unsafe rondo_futex_wake(word.address()) }
    onWake()
  }

  /// Has the epoll set that the loop sleeps in report the eventfd again: one epoll_ctl(2), as fast as a write to it.
  ///
  /// A write would go into whatever file has the number by now, if the program has closed the eventfd. This system call
  /// fails unless both numbers stand for what they stood for when the loop made them.
  @inline(never)
  private func wake() {
    let error = rondo_wake(epoll.load(ordering: .relaxed), descriptor)
    if error == 0 { return }
    WaitFailure("the eventfd that wakes it, or its epoll set", descriptor, error, in: "epoll_ctl(2)").end()
  }

  /// The loop will sleep in another epoll set. The loop's thread, before it says that it sleeps.
  func sleeps(in epoll: CInt) {
    self.epoll.store(epoll, ordering: .relaxed)
  }

  /// Whether any of `bits` is set: one relaxed load.
  @inline(__always)
  func has(_ bits: WakeProtocol.Bits) -> Bool {
    WakeProtocol(word: word.load(ordering: .relaxed)).hasAny(bits)
  }

  /// - Parameter isOutside: The loop is a guest, and returns to its host, which sleeps for it.
  @inline(__always)
  func prepareToSleep(isOutside: Bool) -> WakeProtocol.SleepAction {
    isOutside ? update { $0.prepareToSleepOutside() } : update { $0.prepareToSleep() }
  }

  /// The thread of a guest loop returns to its host, which has to call it again immediately.
  func returnToHostReadable() {
    update { $0.leave() }
    descriptor < 0 ? onWake() : wake()
  }

  /// The loop's thread, at its host, has changed something that the loop has to look at.
  func cancelSleep() {
    if update({ $0.cancelSleep() }) == .write { descriptor < 0 ? onWake() : wake() }
  }

  @inline(__always)
  func wokeTaking(_ bits: WakeProtocol.Bits) -> WakeProtocol.Bits { update { $0.woke(taking: bits) } }

  /// Out of line: inlined, it would push the first half of a turn out of the turn's function.
  @inline(never)
  func take(_ bits: WakeProtocol.Bits) -> WakeProtocol.Bits {
    has(bits) ? update { $0.take(bits) } : []
  }

  /// Refuses later posts and waits for a poster that is between its decision and its write.
  func close() {
    update { $0.close() }
    awaitWriters()
  }

  /// Waits for a poster that is between its decision and its write. The loop's thread, awake.
  ///
  /// It sleeps: a thread of a higher priority that only yielded might never leave the processor to the poster.
  func awaitWriters() {
    while update({ $0.awaitWriters() }) {
      let seen = word.load(ordering: .sequentiallyConsistent)
      if WakeProtocol(word: seen).hasWriters { unsafe rondo_futex_wait(word.address(), seen) }
    }
  }
}
