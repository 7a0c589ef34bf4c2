internal import Glibc
internal import Synchronization
public import Testing

/// Runs a test once for each of many seeds. Make it with `.seeds(_:from:)`.
///
/// Loops that the test makes with `withVirtualLoop` take the seed. If the test fails with one, the trait makes that seed
/// smaller, and runs the test with what is left: its failures are recorded, and one more that says how to replay them.
/// The environment variable RONDO_SEED has it run the test with that seed alone.
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
    guard testCase != nil else { return try await function() }
    if let text = unsafe getenv("RONDO_SEED").map({ unsafe String(cString: $0) }) {
      guard let seed = Seed(text) else {
        Issue.record("RONDO_SEED is no seed: \(text)")
        return
      }
      return try await Seed.$current.withValue(seed, operation: function)
    }
    for number in numbers {
      let log = ChoiceLog()
      guard await ChoiceLog.$current.withValue(log, operation: { await Self.fails(Seed(number), function) }) else {
        continue
      }
      let smallest = await Seed(number).smallest(of: log.places) { await Self.fails($0, function) }
      let order = smallest.choices == [] ? " No choice is needed: it fails in the documented order." : ""
      Issue.record(
        "It fails with seed \(smallest): withVirtualLoop(seed: Seed(\"\(smallest)\")), or RONDO_SEED=\"\(smallest)\".\(order)"
      )
      return try await Seed.$current.withValue(smallest, operation: function)
    }
  }

  /// Whether the test fails with a seed. What it fails with is a known issue.
  private static func fails(_ seed: Seed, _ function: @Sendable () async throws -> Void) async -> Bool {
    let failures = Atomic(0)
    try? await withKnownIssue("with seed \(seed)", isIntermittent: true) {
      try await Seed.$current.withValue(seed, operation: function)
    } matching: { _ in
      failures.add(1, ordering: .relaxed)
      return true
    }
    return failures.load(ordering: .relaxed) > 0
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
