import CRondoDaemon
import Glibc
public import Rondo

/// Calls its handler on a loop's thread when the process receives a signal. See sigaction(2).
///
/// No thread has to block the signal. While a signal has a source, the signal has no other effect. The first source
/// replaces the signal's disposition. When the last source is invalidated or released, it restores that disposition,
/// unless other code has replaced it in between. Each of several sources of one signal calls its handler, in any loop.
///
/// ```swift
/// let termination = try SignalSource(SIGTERM) { _, _ in loop.stop() }
/// loop.add(termination, to: .common)
/// ```
///
/// If the kernel refuses to watch the source, the source becomes invalid: `failure` has the reason, and one line goes
/// to stderr. The signal then has its old disposition again, as after the end of the source's loop.
///
/// A forked child does not inherit the sources: there the signal has its old disposition. An executed program begins
/// with the default disposition.
public struct SignalSource: DaemonSource {
  private let item: Loop.DescriptorSource
  private let subscription: SignalSubscription

  /// The deliveries since the last call of the handler.
  public struct Delivery: Hashable, Sendable {
    /// The signal's number.
    public let signal: CInt
    /// How often it was delivered, at least once. The kernel merges pending signals, except real-time signals.
    public let count: Int
    /// The process that sent the last of them by kill(2) or tgkill(2).
    ///
    /// Nil if the kernel sent it (a key of the terminal, a timer), or a sender by sigqueue(3), which can name any
    /// process.
    public let sender: Sender?
    /// When the last of them came; not on a simulated machine.
    let date: Instant

    /// When it came by the time of its loop: in virtual time, when the loop tells of it.
    func date(on loop: Loop) -> Instant { loop.isVirtual ? loop.now : date }
  }

  /// How long after a signal another one is taken for the same wish, in nanoseconds.
  ///
  /// npm(1) and others pass a signal on that the terminal has sent to the whole group, so that it comes twice.
  static let echo: Int64 = 500_000_000

  /// The sender of a signal: si_pid and si_uid of sigaction(2).
  public struct Sender: Hashable, Sendable {
    /// The process's number (PID).
    public let process: CInt
    /// The real user's number (UID).
    public let user: UInt32
  }

  /// Makes a source for a signal, and claims the signal. Costs a descriptor.
  ///
  /// Signals that come before you add the source to a loop are counted. The call unblocks the signal on the calling
  /// thread, so that at least one thread can receive it. Dispatch's threads block all signals, and so do the threads
  /// and processes that they start.
  ///
  /// - Parameter handler: Called on the loop's thread, once for all deliveries since its last call.
  /// - Throws: `.uncatchable` for SIGKILL and SIGSTOP, `.fault` for SIGSEGV, SIGBUS, SIGFPE and SIGILL, `.unknown`,
  ///   `.exhausted`, `.noMemory`.
  public init(
    _ signal: CInt, order: Int = 0, fileID: StaticString = #fileID, line: UInt = #line,
    handler: sending @escaping (SignalSource, Delivery) -> Void
  ) throws(SignalError) {
    let subscription = try SignalSubscription(signal)
    self.subscription = subscription
    do {
      item = try Loop.ReportedDescriptorSource(
        subscription.descriptor, for: .read, order: order, fileID: fileID, line: line
      ) { item, readiness in
        if readiness == .givenUp, let reason = item.invalidationReason { return subscription.giveUp(reason) }
        // Another run may have told it already.
        guard let delivery = subscription.take() else { return }
        handler(SignalSource(item, subscription), delivery)
      }
    } catch {
      throw .exhausted
    }
    (item as? any DelegatingItem)?.delegate = subscription
    rondo_signal_unblock(signal)
  }

  private init(_ item: Loop.DescriptorSource, _ subscription: SignalSubscription) {
    self.item = item
    self.subscription = subscription
  }

  /// Has what comes from a date of CLOCK_MONOTONIC on act as it would without the source.
  func end(at date: Instant) { subscription.end(at: date) }

  /// The number of the source's signal.
  public var signal: CInt { subscription.signal }

  /// The items of the source: one descriptor source.
  public var items: [Loop.Item] { [item] }

  /// Ends the source. The signal's last source restores its disposition. Any thread.
  public func invalidate() {
    subscription.cancel()
    item.invalidate()
  }
}

extension SignalSource {
  /// Makes the whole process ignore a signal. Any thread.
  ///
  /// Use it for SIGPIPE: writing to a closed connection then fails instead of ending the process. If the signal has a
  /// source, it is ignored after the source's end. An executed program still ignores it. One that ``ChildSource``
  /// starts does so only for SIGHUP, SIGINT and SIGQUIT.
  ///
  /// - Throws: `.uncatchable` for SIGKILL and SIGSTOP, `.fault`, `.unknown`.
  public static func ignore(_ signal: CInt) throws(SignalError) {
    try SignalError.check(signal)
    let result = rondo_signal_ignore(signal)
    if result < 0 { throw SignalError(signal, errno: -result) }
  }

  /// Returns the real-time signal of a number: SIGRTMIN + number, 0 for the first. See signal(7).
  ///
  /// The kernel does not merge real-time signals.
  ///
  /// - Throws: `.unknown` if the system has fewer.
  public static func realTime(_ number: Int) throws(SignalError) -> CInt {
    let (first, last) = (Int(rondo_first_real_time_signal()), Int(rondo_last_real_time_signal()))
    guard number >= 0, number <= last - first else { throw .unknown(CInt(clamping: number)) }
    return CInt(first + number)
  }
}
