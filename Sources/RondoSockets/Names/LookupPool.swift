import Rondo

/// Threads that look up names, one at a time each, and the names that wait for one.
///
/// A thread whose lookup has no caller any more is abandoned until the system's answer comes: it cannot be called back.
/// Another takes its place until then, if there are no more than `threadsForEach` times as many as there should be. The
/// same goes for threads that all hang: each time that none has become free for as long as `patience`, one more begins.
final class LookupPool: Sendable {
  /// *constant*
  private let mostThreads: Int
  /// Chosen: at a second each, silent names that hold their threads for the 10 s of resolv.conf(5) delay no others.
  static let threadsForEach = 16
  /// Chosen: a name server that answers does so in a tenth of it.
  static let patience = Duration.seconds(1)
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
    /// How often a thread has become free, or has begun.
    var turns = 0
    /// The lookups that threads do and callers wait for.
    var asked: [Lookup] = []
    var waiting: [Lookup] = []

    func hasRoom(_ most: Int) -> Bool { count - abandoned < most && count < most * LookupPool.threadsForEach }

    mutating func start(_ lookup: Lookup) -> Step {
      count += 1
      turns += 1
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
      turns += 1
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
    case .wait: lookup.waitForThread(of: self)
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
      lookup.waitForThread(of: self)
    }
  }

  /// How often a thread has become free, or has begun. Any thread.
  var turns: Int { state.withLock { $0.turns } }

  /// A lookup has waited for `patience`. If no thread has become free in that time, they hang: it gets one of its own.
  ///
  /// - Parameter turns: How many there were when it began to wait.
  /// - Returns: How many there are; nil if it waits no more.
  func relieve(_ lookup: Lookup, since turns: Int) -> Int? {
    let (turns, step) = state.withLock { state -> (Int?, Step) in
      guard let place = state.waiting.firstIndex(where: { $0 === lookup }) else { return (nil, .wait) }
      guard state.turns == turns, state.count < mostThreads * Self.threadsForEach else { return (state.turns, .wait) }
      state.waiting.remove(at: place)
      return (nil, state.start(lookup))
    }
    if case .start(let number) = step { startOrFail(number, lookup) }
    return turns
  }

  private func startOrFail(_ number: Int, _ lookup: Lookup) {
    do {
      try start(number, lookup)
    } catch {
      lookup.finish(.failure(error))
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
      state.turns += 1
      return (state.count - 1, state.dequeue())
    }
    if let (number, next) = started { startOrFail(number, next) }
  }
}
