import CLinux
import CRondoDaemon
import Glibc
import Rondo
import RondoSockets
import Synchronization

/// One eventfd that a signal's handler adds to. Ends with its last reference, or before.
///
/// A source that watches the eventfd holds it, so that its number stands for nothing else as long as it is watched.
final class SignalSubscription: ItemDelegate, Sendable {
  /// *constant*
  let signal: CInt
  /// *constant*
  let descriptor: CInt
  /// *constant* As the C side counts, from 1.
  private let number: Int64
  /// The number of each that a simulated machine has.
  private static let simulated: Int64 = 0
  /// *atomic*
  private let isCancelled = Atomic<Bool>(false)

  init(_ signal: CInt) throws(SignalError) {
    try SignalError.check(signal)
    self.signal = signal
    let simulated = rondo_simulate(RONDO_SIGNAL, -1, Int(signal), 0, 0, 0)
    descriptor = simulated == -Int(ENOSYS) ? rondo_eventfd() : CInt(simulated)
    guard descriptor >= 0 else { throw SignalError(signal, errno: simulated == -Int(ENOSYS) ? errno : -descriptor) }
    number = rondo_is_simulated(descriptor) != 0 ? Self.simulated : rondo_signal_subscribe(signal, descriptor)
    if number < 0 {
      rondo_close(descriptor)
      isCancelled.store(true, ordering: .relaxed)
      throw SignalError(signal, errno: CInt(-number))
    }
  }

  deinit {
    if number < 0 { return }
    cancel()
    rondo_close(descriptor)
  }

  /// Its item has ended, alone or with its loop. Any thread.
  func itemWasInvalidated(_ item: Loop.Item) { cancel() }

  /// A signal that comes from a date on is not counted: it acts as it would without the subscription. Any thread.
  ///
  /// A simulated machine counts on.
  func end(at date: Instant) { rondo_signal_end(signal, number, date.nanoseconds) }

  /// Whether signals are those of a simulated machine, which the calling thread is.
  static var areSimulated: Bool { rondo_simulate(RONDO_CLOCK_NOW, -1, 0, 0, 0, 0) != -Int(ENOSYS) }

  /// Whether a signal was ignored when the program started, and so is left to those who ask for it by name.
  ///
  /// nohup(1) and a shell that starts a program in the background have it ignore these signals.
  static func isLeftAlone(_ signal: CInt) -> Bool {
    guard [SIGHUP, SIGINT, SIGQUIT].contains(signal) else { return false }
    // A simulated machine ignores none.
    return !areSimulated && rondo_signal_is_ignored(signal) != 0
  }

  /// No signal is counted from now on. Any thread.
  func cancel() {
    if isCancelled.exchange(true, ordering: .relaxed) { return }
    if number == Self.simulated {
      rondo_shutdown(descriptor, CInt(SHUT_RDWR))
    } else {
      rondo_signal_unsubscribe(signal, number)
    }
  }

  /// The loop cannot watch it: the signal is given back. One that came is sent again if its disposition is the default.
  func giveUp(_ reason: Loop.DescriptorSource.InvalidationReason) {
    warn("signal \(signal) is given back, for its source cannot be told: \(reason).")
    // A descriptor that was closed may be a stranger's by now.
    let hasCome = reason != .descriptorClosed && take() != nil
    cancel()
    var present = sigaction()
    guard hasCome, unsafe sigaction(signal, nil, &present) == 0 else { return }
    if unsafe present.__sigaction_handler.sa_handler == nil { kill(getpid(), signal) }
  }

  /// What was counted since the last time; nil for nothing.
  func take() -> SignalSource.Delivery? {
    var count: UInt64 = 0
    guard unsafe rondo_read(descriptor, &count, MemoryLayout<UInt64>.size) == MemoryLayout<UInt64>.size else {
      return nil
    }
    let last = rondo_signal_last(signal, number)
    let process = CInt(truncatingIfNeeded: last.sender >> 32)
    let sender = SignalSource.Sender(process: process, user: UInt32(truncatingIfNeeded: last.sender))
    return SignalSource.Delivery(
      signal: signal, count: Int(clamping: count), sender: last.sender == 0 ? nil : sender,
      date: Instant(nanoseconds: last.date))
  }
}
