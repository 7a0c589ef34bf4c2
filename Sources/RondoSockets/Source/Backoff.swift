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
