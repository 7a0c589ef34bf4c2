import CLinux

/// Waiting for the loop in async code.
extension Loop {
  /// Why `call(in:_:)` on a loop's thread returned no result.
  public enum CallError<Failure: Error>: Error {
    /// The task was cancelled before the body began. The body does not run.
    case cancelled
    /// The loop's thread is ending or has ended. The body does not run.
    case loopEnded
    /// The body threw this error.
    case body(Failure)
  }

  /// Runs `body` on the loop's thread and suspends until it returns. Any thread.
  ///
  /// The body waits in order among the blocks of `mode`, also if the caller is on the loop's thread. If the task is
  /// cancelled before the body begins, the body never runs and the call throws. If the body has begun, its result
  /// counts.
  ///
  /// - Throws: `.cancelled` or `.loopEnded` if `body` does not run, `.body` with the error that `body` threw.
  public nonisolated(nonsending) func call<Value, Failure: Error>(
    in mode: Mode = .common, _ body: sending @escaping () throws(Failure) -> sending Value
  ) async throws(CallError<Failure>) -> sending Value {
    if Task.isCancelled { throw .cancelled }
    let suspension = Suspension<CallResult<Value, Failure>> { _ in .failure(.loopEnded) }
    nonisolated(unsafe) let body = body
    let result = await Waiter.wait(isolation: #isolation) { waiter in
      guard suspension.begin(waiter) else { return }
      let call = BlockCall(suspension)
      perform(in: mode) {
        guard call.suspension.claim() else { return }
        do throws(Failure) {
          call.suspension.end(.success(try unsafe body()))
        } catch {
          call.suspension.end(.failure(.body(error)))
        }
      }
    } onCancel: {
      suspension.cancel(.failure(.cancelled))
    }
    switch result {
    case .success(let value):
      // The body has given the value up, and no other thread has it.
      nonisolated(unsafe) let value = value
      return unsafe value
    case .failure(let error):
      throw error
    }
  }

  /// Why a wait for a descriptor ended before the descriptor was ready.
  public enum WaitError: Error, Hashable, Sendable {
    /// The task was cancelled.
    case cancelled
    /// The timeout expired before the descriptor was ready.
    case timedOut
    /// The loop's thread has ended.
    case loopEnded
    /// Another task waits for the same direction of this socket. One task reads, and one writes.
    case alreadyAwaited
    /// The loop cannot wait for this descriptor.
    case descriptor(DescriptorError)
    /// The loop invalidated its source of the descriptor during the wait, for this reason.
    case invalidated(DescriptorSource.InvalidationReason)
  }

  /// Suspends until reading from `descriptor` does not block: data, end of file or an error. Any thread.
  ///
  /// The descriptor stays yours. Keep it open until the call returns: if you close it during the wait, the wait may
  /// last until its timeout. Cancelling the task ends the wait immediately.
  ///
  /// - Parameters:
  ///   - timeout: The longest time to wait; nil for no limit.
  ///   - mode: The mode in whose runs the loop watches the descriptor.
  /// - Throws: `.cancelled`, `.timedOut`, `.loopEnded`; `.descriptor` if the descriptor is closed or cannot be watched,
  ///   `.invalidated` if the loop gave up on it.
  public nonisolated(nonsending) func readable(
    _ descriptor: CInt, timeout: Duration? = nil, in mode: Mode = .common
  ) async throws(WaitError) {
    try await ready(descriptor, for: .read, timeout: timeout, in: mode)
  }

  /// Suspends until writing to `descriptor` does not block. Any thread.
  ///
  /// The descriptor stays yours, and must stay open until the call returns, as for ``readable(_:timeout:in:)``.
  /// Cancelling the task ends the wait immediately.
  ///
  /// - Parameters:
  ///   - timeout: The longest time to wait; nil for no limit.
  ///   - mode: The mode in whose runs the loop watches the descriptor.
  /// - Throws: `.cancelled`, `.timedOut`, `.loopEnded`; `.descriptor` if the descriptor is closed or cannot be watched,
  ///   `.invalidated` if the loop gave up on it.
  public nonisolated(nonsending) func writable(
    _ descriptor: CInt, timeout: Duration? = nil, in mode: Mode = .common
  ) async throws(WaitError) {
    try await ready(descriptor, for: .write, timeout: timeout, in: mode)
  }

  private nonisolated(nonsending) func ready(
    _ descriptor: CInt, for interest: DescriptorSource.Readiness, timeout: Duration?, in mode: Mode
  ) async throws(WaitError) {
    if Task.isCancelled { throw .cancelled }
    let suspension = Suspension<Result<Void, WaitError>> { item in
      let reason = (item as? DescriptorSource)?.invalidationReason
      return .failure(reason.map(WaitError.invalidated) ?? .loopEnded)
    }
    let source: DelegatingDescriptorSource
    do {
      source = try DelegatingDescriptorSource(descriptor, for: interest) { _, _ in suspension.end(.success(())) }
    } catch {
      throw .descriptor(error)
    }
    source.delegate = suspension
    let timer = timeout.map { timeout in
      DelegatingTimer(oneShotAt: now.advanced(by: timeout.saturatingNanoseconds), tolerance: .zero) { [isVirtual] _ in
        // A loop that is late, or was given no time, fires timers first: the descriptor may be ready already.
        let isReady = !isVirtual && rondo_is_ready(descriptor, interest == .write ? 1 : 0) != 0
        suspension.end(isReady ? .success(()) : .failure(.timedOut))
      }
    }
    timer?.delegate = suspension
    let result = await Waiter.wait(isolation: #isolation) { waiter in
      let items = [source, timer].compactMap { $0 }
      guard suspension.begin(waiter, holding: items) else { return }
      if !items.allSatisfy({ add($0, to: mode) }) { suspension.end(.failure(.loopEnded)) }
    } onCancel: {
      suspension.cancel(.failure(.cancelled))
    }
    try result.get()
  }
}

extension Loop.CallError: CustomStringConvertible {
  /// A sentence with the cause.
  public var description: String {
    switch self {
    case .cancelled: "the task was cancelled before its call began"
    case .loopEnded: "the loop's thread has ended"
    case .body(let error): "\(error)"
    }
  }
}

extension Loop.WaitError: CustomStringConvertible {
  /// A sentence with the cause.
  public var description: String {
    switch self {
    case .cancelled: "the task was cancelled"
    case .timedOut: "the time given is over"
    case .loopEnded: "the loop's thread has ended"
    case .alreadyAwaited: "another task waits for the same direction of the socket"
    case .descriptor(let error): "\(error)"
    case .invalidated(let reason): "the loop gave up: \(reason)"
    }
  }
}

private typealias CallResult<Value, Failure: Error> = Result<Value, Loop.CallError<Failure>>

/// A call's place in its block: if the block dies unrun, the task hears of it.
private final class BlockCall<Outcome>: Sendable {
  let suspension: Suspension<Outcome>

  init(_ suspension: Suspension<Outcome>) {
    self.suspension = suspension
  }

  deinit {
    suspension.drop()
  }
}
