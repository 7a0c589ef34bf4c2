import Rondo

/// Threads that look up names, one at a time each, and the names that wait for one.
final class LookupPool: Sendable {
  /// *constant*
  private let mostThreads: Int
  /// *constant*
  private let mostWaiting: Int
  /// *constant* Blocks.
  private let ask: @Sendable (LookupQuery) -> LookupQuery.Answer
  /// *its lock*
  private let state = Guarded(State())

  private struct State {
    /// Those that have nothing to do. The others hold themselves.
    var idle: [LoopThread] = []
    /// How many there are.
    var count = 0
    var waiting: [Lookup] = []

    mutating func enqueue(_ lookup: Lookup, _ limit: Int) -> Step {
      guard waiting.count < limit else { return .refuse }
      waiting.append(lookup)
      return .wait
    }
  }

  init(
    threads: Int, waiting: Int, ask: @escaping @Sendable (LookupQuery) -> LookupQuery.Answer
  ) {
    mostThreads = threads
    mostWaiting = waiting
    self.ask = ask
  }

  private enum Step {
    case work(LoopThread)
    case start(number: Int)
    case wait
    case refuse
  }

  /// Has a lookup answered, now or when a thread is free.
  ///
  /// - Throws: `.busy`, or `.exhausted` if there is no thread at all.
  func submit(_ lookup: Lookup) throws(LookupError) {
    let step = state.withLock { state -> Step in
      if let thread = state.idle.popLast() { return .work(thread) }
      if state.count < mostThreads {
        state.count += 1
        return .start(number: state.count - 1)
      }
      return state.enqueue(lookup, mostWaiting)
    }
    switch step {
    case .work(let thread): thread.execute { self.work(thread, lookup) }
    case .start(let number): try start(number, lookup)
    case .wait: lookup.wait(in: self)
    case .refuse: throw .busy
    }
  }

  private func start(_ number: Int, _ lookup: Lookup) throws(LookupError) {
    do throws(LoopThread.StartError) {
      let thread = try LoopThread(name: "lookup \(number)")
      thread.execute { self.work(thread, lookup) }
    } catch {
      // Those that there are do as well.
      let step = state.withLock { state -> Step in
        state.count -= 1
        return state.count == 0 ? .refuse : state.enqueue(lookup, mostWaiting)
      }
      guard case .wait = step else { throw .exhausted }
      lookup.wait(in: self)
    }
  }

  /// Looks up one name after the other, until none waits. On the thread.
  private func work(_ thread: LoopThread, _ first: Lookup) {
    var next: Lookup? = first
    while let lookup = next {
      if !lookup.isOver { lookup.finish(ask(lookup.query)) }
      next = state.withLock { state in
        if state.waiting.isEmpty {
          state.idle.append(thread)
          return nil
        }
        return state.waiting.removeFirst()
      }
    }
  }

  /// Nobody waits for it any more. It makes room for another.
  func forget(_ lookup: Lookup) {
    state.withLock { $0.waiting.removeAll { $0 === lookup } }
  }
}
