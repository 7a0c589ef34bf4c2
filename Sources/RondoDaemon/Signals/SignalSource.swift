import CDaemon
import Glibc
public import Rondo

/// Tells of a signal, and how often it came, on a loop's thread. See sigaction(2).
///
/// No thread has to block the signal. As long as a signal has a source it does nothing else: the first source takes the
/// place of the signal's disposition and the last one, when it is invalidated or let go, puts it back, unless somebody
/// else has taken that place meanwhile. Several sources of one signal, in whatever loops, are all told.
///
/// ```swift
/// let termination = try SignalSource(SIGTERM) { _, _ in loop.stop() }
/// loop.add(termination, to: .common)
/// ```
///
/// Where the kernel refuses to watch it, the source is invalid, which `failure` and a line on stderr say, and the signal is
/// given back: better its default than a signal that does nothing.
///
/// A child that is forked has no part in its parent's sources: there the signal acts as it did before. A program that is
/// executed begins with the default, as after every handler.
public struct SignalSource: DaemonSource {
  private let item: Loop.DescriptorSource
  private let subscription: SignalSubscription

  /// What came since the source was told last.
  public struct Delivery: Hashable, Sendable {
    /// Which signal.
    public let signal: CInt
    /// How often it was delivered, at least once. The kernel merges what waits for delivery, but not real-time signals.
    public let count: Int
    /// The process that sent the last of them by kill(2) or tgkill(2). Nil is the kernel (a key of the terminal, a
    /// timer), or a sender that could name another one: sigqueue(3).
    public let sender: Sender?
  }

  /// Who sent a signal: si_pid and si_uid of sigaction(2).
  public struct Sender: Hashable, Sendable {
    public let process: CInt
    /// The real user.
    public let user: UInt32
  }

  /// A source for a signal, which it claims from now on. What comes before it is added to a loop is counted.
  ///
  /// Costs a descriptor. The calling thread no longer blocks the signal, so that one thread at least can be told of it:
  /// threads of Dispatch block all, and so do the threads and processes that they start.
  ///
  /// - Parameter handler: Called on the loop's thread, once for all that came since the last time.
  /// - Throws: `.uncatchable` for SIGKILL and SIGSTOP, `.fault` for those of a faulty instruction, `.unknown`, `.exhausted`,
  ///   `.noMemory`.
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
    rondo_signal_unblock(signal)
  }

  private init(_ item: Loop.DescriptorSource, _ subscription: SignalSubscription) {
    self.item = item
    self.subscription = subscription
  }

  /// The signal it tells of.
  public var signal: CInt { subscription.signal }

  public var items: [Loop.Item] { [item] }

  /// Ends the source, and gives the signal back if it is the last one's. Any thread.
  public func invalidate() {
    subscription.cancel()
    item.invalidate()
  }
}

extension SignalSource {
  /// Has the whole process ignore a signal. For SIGPIPE, so that writing to who has gone is an error and no end. Any
  /// thread.
  ///
  /// A signal that has a source is ignored when it has none any more. An executed program goes on ignoring it, unless
  /// ``ChildSource`` starts it.
  ///
  /// - Throws: `.uncatchable` for SIGKILL and SIGSTOP, `.fault`, `.unknown`.
  public static func ignore(_ signal: CInt) throws(SignalError) {
    try SignalError.check(signal)
    let result = rondo_signal_ignore(signal)
    if result < 0 { throw SignalError(signal, errno: -result) }
  }

  /// The real-time signal of that number, 0 for the first: SIGRTMIN + number. Each of them counts. See signal(7).
  ///
  /// - Throws: `.unknown` if there are not as many.
  public static func realTime(_ number: Int) throws(SignalError) -> CInt {
    let (first, last) = (Int(rondo_first_real_time_signal()), Int(rondo_last_real_time_signal()))
    guard number >= 0, number <= last - first else { throw .unknown(CInt(clamping: number)) }
    return CInt(first + number)
  }
}
