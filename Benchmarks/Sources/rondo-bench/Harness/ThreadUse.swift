import CBench

/// The threads that the two sides of a dialogue ran on.
struct ThreadUse {
  enum Rule {
    /// Each side has a thread of its own.
    case two
    /// One thread has both sides.
    case one
  }

  private let shared: Int
  private let number: Int

  init(_ one: bench_threads, _ other: bench_threads) {
    (shared, number) = withUnsafePointer(to: one) { one in
      withUnsafePointer(to: other) { other in
        (bench_threads_shared(one, other), bench_threads_number(one, other))
      }
    }
  }

  /// Throws if the sides did other work than the rule asks for, most times of `count`; otherwise tells the threads.
  func check(_ rule: Rule, _ count: Int) throws(Refusal) -> Gauge {
    let isOnOne = 2 * shared >= count
    switch rule {
    case .two where isOnOne: throw .cannot("ran both sides on one thread, \(shared) of \(count) times")
    case .one where !isOnOne:
      throw .cannot("ran the sides on threads of their own, \(count - shared) of \(count) times")
    default: return Gauge(metric: "threads", unit: "", value: Double(number), combination: .worst)
    }
  }
}
