/// Pauses that double from a first to a last length.
package struct Backoff: Sendable, Hashable {
  private let first: Duration
  private let last: Duration
  private var current: Duration

  package init(first: Duration, last: Duration) {
    self.first = first
    self.last = last
    current = first
  }

  /// Between two tries to accept while no descriptor is left.
  package static let accepting = Backoff(first: .milliseconds(10), last: .seconds(1))

  /// Between two tries to connect to a Unix-domain listener whose queue is full: the kernel tells of no room.
  static let connecting = Backoff(first: .milliseconds(1), last: .milliseconds(50))

  /// The next pause.
  package mutating func next() -> Duration {
    defer { current = min(current * 2, last) }
    return current
  }

  /// It went well: the next pause is the first again.
  package mutating func reset() {
    current = first
  }
}

/// How long to wait before the next try to accept, by what the tries before have given.
package struct AcceptPatience: Sendable {
  /// So many connections in a row may fail without a pause. Chosen: a firewall may refuse some, and a filter of
  /// system calls refuses all.
  private static let mostFailures = 16

  private var failures = 0
  private var backoff = Backoff.accepting

  package init() {}

  /// Whether a try has been put off since the last success.
  package var hasPaused: Bool { backoff != .accepting }

  /// A connection has failed.
  ///
  /// - Returns: Nil if others may be tried without a pause.
  package mutating func pauseAfterFailure() -> Duration? {
    failures += 1
    return failures > Self.mostFailures ? backoff.next() : nil
  }

  /// No descriptor or memory is left for a connection.
  package mutating func pauseAfterShortage() -> Duration { backoff.next() }

  /// A connection was accepted, or none waits.
  package mutating func reset() {
    failures = 0
    backoff.reset()
  }
}
