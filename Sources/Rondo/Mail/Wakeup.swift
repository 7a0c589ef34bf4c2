import CLinux
import Synchronization

/// The wake protocol on an atomic word, and the descriptor that ends a sleep.
///
/// Any thread may post; only the loop's thread prepares, sleeps, takes and closes.
final class Wakeup: Sendable {
  /// *atomic*
  private let word = Atomic<UInt32>(0)
  /// *constant* An eventfd watched edge-triggered, hence never read; -1 for a loop that never sleeps in the kernel.
  let descriptor: CInt

  init(descriptor: CInt) {
    self.descriptor = descriptor
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
    switch update({ $0.post(bits) }) {
    case .nothing:
      return true
    case .refused:
      return false
    case .write:
      if descriptor >= 0 { rondo_eventfd_signal(descriptor) }
      update { $0.wrote() }
      return true
    }
  }

  /// Whether any of `bits` is set: one relaxed load.
  @inline(__always)
  func has(_ bits: WakeProtocol.Bits) -> Bool {
    WakeProtocol(word: word.load(ordering: .relaxed)).contains(bits)
  }

  @inline(__always)
  func prepareToSleep() -> WakeProtocol.SleepAction { update { $0.prepareToSleep() } }

  @inline(__always)
  func wokeTaking(_ bits: WakeProtocol.Bits) -> WakeProtocol.Bits { update { $0.woke(taking: bits) } }

  @inline(__always)
  func take(_ bits: WakeProtocol.Bits) -> WakeProtocol.Bits {
    has(bits) ? update { $0.take(bits) } : []
  }

  /// Refuses later posts and waits for a poster that is between its decision and its write.
  func close() {
    update { $0.close() }
    while WakeProtocol(word: word.load(ordering: .sequentiallyConsistent)).hasWriters { sched_yield() }
  }
}
