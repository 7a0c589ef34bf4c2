import Rondo

/// Threads that look up names, one at a time each, and the names that wait for one.
///
/// A thread whose lookup has no caller any more is abandoned until the system's answer comes: it cannot be called back.
/// Another takes its place until then, if there are no more than `threadsForEach` times as many as there should be.
final class LookupPool: Sendable {
  /// *constant*
  private let mostThreads: Int
  /// Chosen: at a second each, silent names that hold their threads for the 10 s of resolv.conf(5) delay no others.
  static let threadsForEach = 16
  /// *constant*
  private let mostWaiting: Int
  /// *constant* Blocks.
  private let ask: @Sendable (LookupQuery) -> LookupQuery.Answer
  /// *its lock* A forked child has none of its parent's threads.
  private let state = PerProcess(State())

  private struct State {
    /// Those that have nothing to do. The others hold themselves.
    var idle: [LoopThread] = []
    /// How many there are.
    var count = 0
    /// How many of them are abandoned.
    var abandoned = 0
    /// The lookups that threads do and callers wait for.
    var asked: [Lookup] = []
    var waiting: [Lookup] = []

    func hasRoom(_ most: Int) -> Bool { count - abandoned < most && count < most * LookupPool.threadsForEach }

    mutating func start(_ lookup: Lookup) -> Step {
      count += 1
      asked.append(lookup)
      return .start(number: count - 1)
    }

    mutating func enqueue(_ lookup: Lookup, _ limit: Int) -> Step {
      guard waiting.count < limit else { return .refuse }
      waiting.append(lookup)
      return .wait
    }

    mutating func dequeue() -> Lookup {
      asked.append(waiting[0])
      return waiting.removeFirst()
    }

    mutating func endAsking(_ lookup: Lookup) {
      if let place = asked.firstIndex(where: { $0 === lookup }) { asked.remove(at: place) } else { abandoned -= 1 }
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
      if let thread = state.idle.popLast() {
        state.asked.append(lookup)
        return .work(thread)
      }
      if state.hasRoom(mostThreads) { return state.start(lookup) }
      return state.enqueue(lookup, mostWaiting)
    }
    switch step {
    case .work(let thread): thread.execute { self.work(thread, lookup) }
    case .start(let number): try start(number, lookup)
    case .wait: break
    case .refuse: throw .busy
    }
    lookup.enter(self)
  }

  private func start(_ number: Int, _ lookup: Lookup) throws(LookupError) {
    do throws(LoopThread.StartError) {
      let thread = try LoopThread(name: "lookup \(number)")
      thread.execute { self.work(thread, lookup) }
    } catch {
      // Those that there are do as well.
      let step = state.withLock { state -> Step in
        state.count -= 1
        state.endAsking(lookup)
        return state.count == 0 ? .refuse : state.enqueue(lookup, mostWaiting)
      }
      guard case .wait = step else { throw .exhausted }
    }
  }

  /// Looks up one name after the other, until none waits. On the thread.
  private func work(_ thread: LoopThread, _ first: Lookup) {
    var next: Lookup? = first
    while let lookup = next {
      let answer = lookup.isOver ? nil : ask(lookup.query)
      state.withLock { $0.endAsking(lookup) }
      if let answer { lookup.finish(answer) }
      next = state.withLock { state in
        // Others have taken its place while it was abandoned.
        if state.count - state.abandoned > mostThreads {
          state.count -= 1
          return nil
        }
        if state.waiting.isEmpty {
          state.idle.append(thread)
          return nil
        }
        return state.dequeue()
      }
    }
  }

  /// No caller waits for it any more. It makes room for another, and if its thread has begun, for another thread.
  func forget(_ lookup: Lookup) {
    let started = state.withLock { state -> (Int, Lookup)? in
      guard let place = state.asked.firstIndex(where: { $0 === lookup }) else {
        state.waiting.removeAll { $0 === lookup }
        return nil
      }
      state.asked.remove(at: place)
      state.abandoned += 1
      guard !state.waiting.isEmpty, state.hasRoom(mostThreads) else { return nil }
      state.count += 1
      return (state.count - 1, state.dequeue())
    }
    guard let (number, next) = started else { return }
    do {
      try start(number, next)
    } catch {
      next.finish(.failure(error))
    }
  }
}
