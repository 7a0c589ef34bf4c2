public import Rondo

/// Looks up host names with getaddrinfo(3), in threads of its own.
///
/// It uses the sources of the system: /etc/hosts, DNS, the entries of nsswitch.conf(5). It never blocks the loop. If a
/// lookup takes longer than its timeout, it throws `.timedOut`. A name server that does not reply holds
/// a thread until the lookup is cancelled or its timeout has passed. Another thread then replaces the one that hangs. If
/// names wait and all threads have hung for a second, one more starts, each second. There are at most 15 more threads
/// for each one that the resolver should have.
///
/// ```swift
/// let resolver = Resolver(threads: 2)
/// Task(executorPreference: loop) {
///   let addresses = try await resolver.addresses(of: "localhost", port: 80, timeout: .seconds(5), on: loop)
///   log.note("\(addresses.count) to try, in this order")
/// }
/// ```
///
/// Use every member from any thread. When the last reference is released, the lookups under way continue.
public final class Resolver: Sendable {
  /// *constant*
  private let pool: LookupPool

  /// The address family of the result.
  public enum Family: Hashable, Sendable {
    case any, ipv4, ipv6
  }

  /// A resolver for the whole process, with four threads.
  public static let shared = Resolver()

  /// The longest time of a lookup, unless you give one: 30 seconds.
  @usableFromInline package static let usualTimeout = Duration.seconds(30)

  /// Makes a resolver. It starts each thread when it needs it. A thread takes three descriptors.
  ///
  /// - Parameters:
  ///   - threads: The most lookups at a time, at least one.
  ///   - waiting: The most further lookups that wait for a thread.
  public convenience init(threads: Int = 4, waiting: Int = 256) {
    self.init(threads: threads, waiting: waiting) { $0.ask() }
  }

  init(threads: Int, waiting: Int, ask: @escaping @Sendable (LookupQuery) -> LookupQuery.Answer) {
    require(threads > 0, "A resolver has one thread at least. Use Resolver(threads: 1).")
    require(waiting >= 0, "No negative number of names can wait. Use Resolver(waiting: 0) for none.")
    pool = LookupPool(threads: threads, waiting: waiting, ask: ask)
  }

  /// Looks up a name, and calls `handler` at most once. Any thread.
  ///
  /// The handler is not called before this returns. An address as text is returned as it is, without a thread. For the
  /// loop of a simulated host, the simulation has the names.
  ///
  /// - Parameters:
  ///   - port: The port of the returned addresses.
  ///   - timeout: The longest time, by the loop's clock. Not negative.
  ///   - mode: The mode in which the handler is called.
  ///   - handler: Called on the loop's thread with at least one address, in the order in which to try them, or with an
  ///     error. Not called if the loop ends before.
  /// - Returns: A handle that cancels the lookup. You need not keep it.
  @discardableResult
  package func lookUp(
    _ host: String, port: UInt16, _ family: Family = .any, timeout: Duration = Resolver.usualTimeout, on loop: Loop,
    in mode: Loop.Mode = .common, handler: sending @escaping (Result<[SocketAddress], LookupError>) -> Void
  ) -> Lookup {
    let lookup = Lookup(LookupQuery(host: host, port: port, family: family), on: loop, in: mode)
    guard lookup.begin(within: timeout, Lookup.Delivery(handler)) else { return lookup }
    if let answer = lookup.query.ownAnswer {
      lookup.finish(answer)
      return lookup
    }
    if loop.lookUpInSimulation(host, { lookup.finish(lookup.query.answer(by: $0)) }) { return lookup }
    do {
      try pool.submit(lookup)
    } catch {
      lookup.finish(.failure(error))
    }
    return lookup
  }

  /// Looks up a name, and suspends until it has a result. Any thread.
  ///
  /// - Parameters:
  ///   - port: The port of the returned addresses.
  ///   - timeout: The longest time, by the loop's clock, while the loop runs in a common mode.
  ///   - loop: The loop that measures the time; it must run.
  /// - Returns: At least one address, in the order in which to try them.
  /// - Throws: `.cancelled` as soon as the task is cancelled, `.loopEnded`, `.timedOut`, `.notFound`, and the other
  ///   cases of ``LookupError``.
  public nonisolated(nonsending) func addresses(
    of host: String, port: UInt16, _ family: Family = .any, timeout: Duration = Resolver.usualTimeout, on loop: Loop
  ) async throws(LookupError) -> [SocketAddress] {
    if Task.isCancelled { throw .cancelled }
    let wait = Suspension<LookupQuery.Answer>(dropped: { _ in .failure(.loopEnded) })
    let current = Guarded<Lookup?>(nil)
    let answer = await Waiter.wait(isolation: #isolation) { waiter in
      guard wait.begin(waiter) else { return }
      let ticket = LookupTicket(wait)
      let lookup = lookUp(host, port: port, family, timeout: timeout, on: loop) { ticket.wait.end($0) }
      current.withLock { $0 = lookup }
      // A cancellation that came before found no lookup.
      if Task.isCancelled { lookup.cancel() }
    } onCancel: {
      wait.end(.failure(.cancelled))
      current.withLock { $0 }?.cancel()
    }
    return try answer.get()
  }
}

/// What the lookup has of the task that waits: if it dies unused, the loop has ended.
private final class LookupTicket: Sendable {
  let wait: Suspension<LookupQuery.Answer>

  init(_ wait: Suspension<LookupQuery.Answer>) {
    self.wait = wait
  }

  deinit { wait.drop() }
}
