public import Testing

/// Runs a test once for each of many seeds. Make it with `.seeds(_:from:)`.
///
/// Loops that the test makes with `withVirtualLoop` take the seed, and so do simulations. If the test fails with one, the
/// trait leaves out choices of that seed as long as the first failure stays: one at the same place in the source, and of the
/// same kind or with an error of the same type. It runs the test with what is left. Its failures are recorded, and one more
/// that has the line which replays them, and what happened by chance.
///
/// Three environment variables change that. RONDO_SEEDS=100000 has it run the test with so many seeds. RONDO_SEED has it run the
/// test with that seed alone, and RONDO_TRACE=20 adds the last 20 events before the end.
public struct SeedsTrait: TestTrait, SuiteTrait, TestScoping {
  /// The seeds' numbers.
  let numbers: Range<UInt64>
  /// Whether the tests of a suite have it.
  public var isRecursive: Bool { true }

  /// Runs the test with each seed.
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    // A suite has no body of its own.
    guard let testCase else { return try await function() }
    let eventCount = SeedTrial.variable("RONDO_TRACE").flatMap { Int($0) } ?? 0
    let trial = SeedTrial(test, testCase, eventCount: max(0, eventCount))
    if let text = SeedTrial.variable("RONDO_SEED") {
      guard let seed = Seed(text) else {
        Issue.record("RONDO_SEED is no seed: \(text)", sourceLocation: test.sourceLocation)
        return
      }
      return try await trial.show(seed, function)
    }
    let count = SeedTrial.variable("RONDO_SEEDS")
    guard let numbers = numbers(asked: count) else {
      Issue.record("RONDO_SEEDS is no number of seeds: \(count ?? "")", sourceLocation: test.sourceLocation)
      return
    }
    for number in numbers {
      let log = RunLog()
      guard let first = await trial.failures(with: Seed(number), log, function).first else { continue }
      let smallest = await Seed(number).smallest(of: log.places) {
        await trial.failures(with: $0, RunLog(), function).contains(first)
      }
      return try await trial.show(smallest, function)
    }
  }

  /// The seeds' numbers, as many as a text says.
  package func numbers(asked count: String?) -> Range<UInt64>? {
    guard let count else { return numbers }
    guard let count = UInt64(count), count > 0, count <= UInt64.max - numbers.lowerBound else { return nil }
    return numbers.lowerBound..<numbers.lowerBound + count
  }
}

extension Trait where Self == SeedsTrait {
  /// Runs the test once for each of `count` seeds, from a first one on.
  ///
  /// - Parameters:
  ///   - count: How many seeds.
  ///   - first: The number of the first one.
  public static func seeds(_ count: Int, from first: UInt64 = 1) -> Self {
    Self(numbers: first..<first + UInt64(count))
  }
}
