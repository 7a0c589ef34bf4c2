public import Rondo
public import RondoSockets

/// Looks up names off the loop: getaddrinfo(3) in threads of its own, with a deadline.
///
/// It knows what the system knows: /etc/hosts, DNS, whatever nsswitch.conf(5) says. Who waits is told in time, and the
/// loop is never blocked. A server that does not answer holds a thread until the lookup's time is over or it is
/// cancelled; then another thread takes the place of the one that hangs, while no more than 15 for each thread do.
///
/// ```swift
/// let resolver = Resolver(threads: 2)
/// resolver.lookUp("localhost", port: 80, within: .seconds(5), on: loop) { answer in
///   switch answer {
///   case .success(let addresses): log.note("\(addresses.count) to try, in this order")
///   case .failure(let error): log.note("\(error)")
///   }
/// }
/// ```
///
/// Every member may be called from any thread. When the last reference goes, what has begun is still told.
public final class Resolver: Sendable {
  /// *constant*
  private let pool: LookupPool

  /// Which addresses are wanted.
  public enum Family: Hashable, Sendable {
    case any, ipv4, ipv6
  }

  /// A resolver for a whole process, with four threads.
  public static let shared = Resolver()

  /// Starts no thread before it is needed. Each has a loop, and so three descriptors.
  ///
  /// - Parameters:
  ///   - threads: How many names that somebody waits for are looked up at a time, at most. At least one.
  ///   - waiting: How many more may wait for a thread.
  public convenience init(threads: Int = 4, waiting: Int = 256) {
    self.init(threads: threads, waiting: waiting) { $0.ask() }
  }

  init(threads: Int, waiting: Int, ask: @escaping @Sendable (LookupQuery) -> LookupQuery.Answer) {
    contract(threads > 0, "A resolver has one thread at least. Use Resolver(threads: 1).")
    contract(waiting >= 0, "No negative number of names can wait. Use Resolver(waiting: 0) for none.")
    pool = LookupPool(threads: threads, waiting: waiting, ask: ask)
  }

  /// Looks up a name, and tells a loop. It is told once at most, and never before this has returned. Any thread.
  ///
  /// An address as text is its own answer, and needs no thread.
  ///
  /// - Parameters:
  ///   - port: What the addresses are to have.
  ///   - limit: How long it may take, by the loop's clock. Not negative.
  ///   - mode: In which the handler is called.
  ///   - handler: Called on the loop's thread with one address at least, in the order in which they are to be tried. Not
  ///     called if the loop ends before.
  /// - Returns: What cancels it; need not be kept.
  @discardableResult
  public func lookUp(
    _ host: String, port: UInt16, _ family: Family = .any, within limit: Duration = .seconds(30), on loop: Loop,
    in mode: Loop.Mode = .common, handler: sending @escaping (Result<[SocketAddress], LookupError>) -> Void
  ) -> Lookup {
    let lookup = Lookup(LookupQuery(host: host, port: port, family: family), on: loop, in: mode)
    guard lookup.begin(within: limit, Lookup.Delivery(handler)) else { return lookup }
    if let answer = lookup.query.ownAnswer {
      lookup.finish(answer)
      return lookup
    }
    do {
      try pool.submit(lookup)
    } catch {
      lookup.finish(.failure(error))
    }
    return lookup
  }

  /// Looks up a name, and suspends until there is an answer. Any thread.
  ///
  /// - Parameters:
  ///   - port: What the addresses are to have.
  ///   - limit: How long it may take, by the loop's clock, while the loop runs in a common mode.
  ///   - loop: Which has to run.
  /// - Returns: One address at least, in the order in which they are to be tried.
  /// - Throws: `.cancelled` at once when the task is, `.loopEnded`, `.timedOut`, `.notFound` and so on.
  public nonisolated(nonsending) func addresses(
    of host: String, port: UInt16, _ family: Family = .any, within limit: Duration = .seconds(30), on loop: Loop
  ) async throws(LookupError) -> [SocketAddress] {
    if Task.isCancelled { throw .cancelled }
    let wait = LookupWait()
    let answer = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard wait.begin(continuation) else { return }
        let ticket = LookupWait.Ticket(wait)
        let lookup = lookUp(host, port: port, family, within: limit, on: loop) { ticket.wait.end($0) }
        wait.follow(lookup)
      }
    } onCancel: {
      wait.cancel()
    }
    return try answer.get()
  }
}

/// A task that waits for a lookup, resumed by whatever comes first.
private final class LookupWait: @unchecked Sendable {
  private typealias Machine = SuspensionMachine<CheckedContinuation<LookupQuery.Answer, Never>, LookupQuery.Answer>

  /// *its lock*
  private let state = Guarded(State())

  private struct State {
    var machine = Machine()
    /// Nobody waits any more.
    var isCancelled = false
    var lookup: Lookup?
  }

  /// What the lookup has of the task: if it dies unused, the loop has ended.
  final class Ticket: Sendable {
    let wait: LookupWait

    init(_ wait: LookupWait) {
      self.wait = wait
    }

    deinit { wait.end(.failure(.loopEnded)) }
  }

  /// - Returns: False if the task has been resumed, for it was cancelled before.
  func begin(_ continuation: CheckedContinuation<LookupQuery.Answer, Never>) -> Bool {
    !resume(state.withLock { $0.machine.begin(continuation) })
  }

  func follow(_ lookup: Lookup) {
    let isCancelled = state.withLock { state in
      state.lookup = lookup
      return state.isCancelled
    }
    if isCancelled { lookup.cancel() }
  }

  func end(_ answer: LookupQuery.Answer) {
    _ = resume(state.withLock { $0.machine.end(answer) })
  }

  func cancel() {
    let lookup = state.withLock { state in
      state.isCancelled = true
      return state.lookup
    }
    end(.failure(.cancelled))
    lookup?.cancel()
  }

  private func resume(_ action: Machine.Action) -> Bool {
    guard case .resume(let continuation, let answer) = action else { return false }
    continuation.resume(returning: answer)
    return true
  }
}
