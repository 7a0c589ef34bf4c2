#if TLS
  internal import Rondo
  internal import RondoAsync

  extension TLSConnection {
    /// The data that arrives on a connection; see ``TLSConnection/received(atMost:)``.
    public struct Received: AsyncSequence, Sendable {
      public typealias Element = [UInt8]
      public typealias Failure = TLSError

      let feed: TLSFeed

      public func makeAsyncIterator() -> Iterator { Iterator(feed: feed) }

      public struct Iterator: AsyncIteratorProtocol {
        let feed: TLSFeed

        /// Returns the bytes that arrived since the last call; nil at the end.
        ///
        /// It waits until at least one byte has arrived.
        ///
        /// - Throws: The error with which the connection failed.
        public mutating func next() async throws(TLSError) -> [UInt8]? {
          try await feed.next()
        }

        /// Returns the next bytes as `next()` does, and stays on the caller's actor.
        ///
        /// - Throws: The error with which the connection failed.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(TLSError) -> [UInt8]? {
          try await feed.next()
        }
      }
    }
  }

  /// Hands what arrives to one task, and keeps what it has not asked for yet.
  final class TLSFeed: Sendable {
    /// *constant* How much may wait before nothing more is read.
    private let limit: Int
    /// *constant* Has the connection read on. Any thread.
    private let resume: @Sendable () -> Void
    /// *its lock*
    private let state = Guarded(State())

    private struct State {
      var machine = FeedMachine<Waiter<Answer>, [UInt8], TLSError>()
      /// How many bytes wait to be asked for.
      var count = 0
      /// Whether nothing more is read.
      var isPaused = false
      var isOver = false
    }

    private typealias Answer = Result<[UInt8]?, TLSError>

    init(limit: Int, resume: @escaping @Sendable () -> Void) {
      self.limit = limit
      self.resume = resume
    }

    /// Gives the task bytes, or keeps them until it asks. The loop's thread.
    ///
    /// - Returns: Whether nothing more is to be read for now.
    func offer(_ bytes: [UInt8]) -> Bool {
      let (delivery, isPaused) = state.withLock { state in
        let delivery = state.machine.offer(bytes, +)
        if delivery == nil { state.count += bytes.count }
        state.isPaused = state.count >= limit || state.isOver
        return (delivery, state.isPaused)
      }
      delivery?.waiter.resume(delivery!.answer)
      return isPaused
    }

    /// Nothing more comes. Any thread.
    func end(_ error: TLSError?) {
      let delivery = state.withLock { state in
        state.isOver = true
        return state.machine.end(error)
      }
      delivery?.waiter.resume(delivery!.answer)
    }

    /// One task at a time.
    nonisolated(nonsending) func next() async throws(TLSError) -> [UInt8]? {
      if Task.isCancelled { cancel() }
      if let answer = take(for: nil) { return try answer.get() }
      let answer = await Waiter<Answer>.wait(isolation: #isolation) { waiter in
        if let answer = take(for: waiter) { waiter.resume(answer) }
      } onCancel: {
        cancel()
      }
      return try answer.get()
    }

    /// What waits; or else the task does.
    private func take(for waiter: Waiter<Answer>?) -> Answer? {
      let (answer, isResumed) = state.withLock { state in
        let answer = if let waiter { state.machine.wait(waiter) } else { state.machine.take() }
        let isResumed = state.isPaused && !state.isOver && answer != nil
        if answer != nil { (state.count, state.isPaused) = (0, state.isPaused && state.isOver) }
        return (answer, isResumed)
      }
      if isResumed { resume() }
      return answer
    }

    private func cancel() {
      let delivery = state.withLock { state in
        state.isOver = true
        return state.machine.cancel()
      }
      delivery?.waiter.resume(delivery!.answer)
    }
  }
#endif
