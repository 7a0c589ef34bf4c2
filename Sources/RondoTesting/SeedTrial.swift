internal import Glibc
internal import Synchronization
package import Testing

/// Runs a test with one seed or another.
package struct SeedTrial: Sendable {
  private let test: Test
  private let testCase: Test.Case
  /// How many events a failure is told with, the last ones.
  private let eventCount: Int

  package init(_ test: Test, _ testCase: Test.Case, eventCount: Int = 0) {
    (self.test, self.testCase, self.eventCount) = (test, testCase, eventCount)
  }

  /// What makes two failures the same one.
  struct Failure: Hashable, Sendable {
    let place: SourceLocation?
    let kind: String

    init(_ issue: Issue) {
      place = issue.sourceLocation
      kind =
        switch issue.kind {
        case .unconditional: "unconditional"
        case .expectationFailed: "expectation"
        case .confirmationMiscounted: "confirmation"
        case .timeLimitExceeded: "time limit"
        default: issue.error.map { "\(type(of: $0))" } ?? "\(issue.kind)"
        }
    }

    /// An error that the test has thrown has no place.
    init(_ error: any Error) { (place, kind) = (nil, "\(type(of: error))") }
  }

  /// What the test fails with, in order. Nothing of it is recorded.
  func failures(
    with seed: Seed, _ log: RunLog, _ function: @Sendable () async throws -> Void
  ) async -> [Failure] {
    let found = Mutex<[Failure]>([])
    do {
      try await run(seed, log, function) { issue in
        if issue.isFailure { found.withLock { $0.append(Failure(issue)) } }
        return nil
      }
    } catch { found.withLock { $0.append(Failure(error)) } }
    return found.withLock { $0 }
  }

  /// Runs the test, and records what it fails with, and how that comes.
  package func show(_ seed: Seed, _ function: @Sendable () async throws -> Void) async throws {
    let log = RunLog(tells: true, eventCount: eventCount)
    let hasFailed = Atomic(false)
    do {
      try await run(seed, log, function) { issue in
        if issue.isFailure { hasFailed.store(true, ordering: .relaxed) }
        return issue
      }
    } catch {
      record(seed, log)
      throw error
    }
    if hasFailed.load(ordering: .relaxed) { record(seed, log) }
  }

  private func run(
    _ seed: Seed, _ log: RunLog, _ function: @Sendable () async throws -> Void,
    _ handle: @escaping @Sendable (Issue) -> Issue?
  ) async throws {
    try await IssueHandlingTrait.compactMapIssues(handle).provideScope(for: test, testCase: testCase) {
      try await RunLog.$current.withValue(log) {
        try await Seed.$current.withValue(seed, operation: function)
      }
    }
  }

  private func record(_ seed: Seed, _ log: RunLog) {
    var lines = ["RONDO_SEED=\"\(seed)\" swift test --filter '\(Self.pattern(of: test.name))' replays it."]
    if seed.choices == [] { lines.append("No choice is needed: it fails in the documented order.") }
    lines += log.sentences
    if !log.events.isEmpty { lines += ["The last events:"] + log.events }
    Issue.record(Comment(rawValue: lines.joined(separator: "\n")), sourceLocation: test.sourceLocation)
  }

  /// A regular expression for the test's name that a shell takes in single quotes.
  static func pattern(of name: String) -> String {
    let words = name.prefix { $0 != "(" }
    return String(words.filter { $0 != "`" }.map { $0.isLetter || $0.isNumber || " _,:-".contains($0) ? $0 : "." })
  }

  static func variable(_ name: String) -> String? {
    unsafe getenv(name).map { unsafe String(cString: $0) }
  }
}
