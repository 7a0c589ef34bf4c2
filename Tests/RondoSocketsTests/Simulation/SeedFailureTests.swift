import Glibc
import Rondo
import RondoSockets
import RondoTestSupport
import RondoTesting
import Testing

/// How a test that fails with a seed is told: which failure is kept, and what happened by chance.
@Suite struct SeedFailureTests {
  private struct Torn: Error {}
  private struct Stale: Error {}

  /// What is recorded, and the error that is thrown, while `body` runs.
  private static func listen(
    _ body: @Sendable (Test, Test.Case) async throws -> Void
  ) async throws -> (told: [String], error: (any Error)?) {
    let told = Guarded<[String]>([])
    let (test, testCase) = (try #require(Test.current), try #require(Test.Case.current))
    let listening = IssueHandlingTrait.compactMapIssues { issue in
      told.withLock { $0.append(issue.comments.map(\.rawValue).joined()) }
      return nil
    }
    var thrown: (any Error)?
    do {
      try await listening.provideScope(for: test, testCase: testCase) { try await body(test, testCase) }
    } catch { thrown = error }
    return (told.withLock { $0 }, thrown)
  }

  /// Three choices of a simulation with a seed.
  private static func choices(_ seed: Seed?) -> [Bool] {
    withSimulation(seed: seed) { simulation in (0..<3).map { _ in simulation.choose(among: 2) == 1 } }
  }

  /// A seed that makes all three.
  private static var first: UInt64 { (1...100).first { choices(Seed($0)) == [true, true, true] }! }

  /// Two faults are planted: one needs the first two choices, the other the third one alone.
  @Test func `of two faults the first that failed is kept, though the other one needs fewer choices`() async throws {
    let number = Self.first
    let (told, _) = try await Self.listen { test, testCase in
      try await SeedsTrait.seeds(1, from: number).provideScope(for: test, testCase: testCase) {
        let chosen = Self.choices(Seed.current)
        if chosen[0], chosen[1] { Issue.record("torn") }
        if !chosen[1], chosen[2] { Issue.record("stale") }
      }
    }
    #expect(told.first == "torn" && told.count == 2)
    #expect(told.last?.hasPrefix("RONDO_SEED=\"\(number):0,1\" swift test --filter ") == true)
  }

  @Test func `of two errors the type that was thrown first is kept`() async throws {
    let number = Self.first
    let (told, error) = try await Self.listen { test, testCase in
      try await SeedsTrait.seeds(1, from: number).provideScope(for: test, testCase: testCase) {
        let chosen = Self.choices(Seed.current)
        if chosen[0], chosen[1] { throw Torn() }
        if !chosen[1], chosen[2] { throw Stale() }
      }
    }
    #expect(error is Torn)
    #expect(told.count == 1)
    #expect(told.first?.hasPrefix("RONDO_SEED=\"\(number):0,1\" swift test --filter ") == true)
  }

  /// A host that makes a socket each second, and fails if it cannot.
  private static func makeSockets() {
    withSimulation { simulation in
      let (one, other) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      simulation.faults.fail(.socket, with: EMFILE, oneIn: 5, on: other)
      for host in [one, other] {
        host.start {
          for _ in 0..<5 {
            try await host.loop.clock.sleep(for: .seconds(1))
            do { _ = try Socket(family: AF_INET, .stream) } catch { Issue.record("no socket") }
          }
        }
      }
      simulation.run(for: .seconds(6))
    }
  }

  @Test func `a fault that is left is told as a sentence with its date and its host`() async throws {
    let (told, _) = try await Self.listen { test, testCase in
      try await SeedsTrait.seeds(100).provideScope(for: test, testCase: testCase) { Self.makeSockets() }
    }
    #expect(told.count == 2 && told.first == "no socket")
    let lines = try #require(told.last).split(separator: "\n")
    #expect(lines.count == 2)
    #expect(
      lines.last?.wholeMatch(
        of: /At [1-5].0 seconds on 10.0.0.2, socket failed with errno 24 \(too many open files in this process\)./)
        != nil)
    // The seed is told once, in quotes, and replays the failure.
    let quoted = try #require(lines.first).split(separator: "\"")
    #expect(quoted.count == 3)
    let seed = try #require(Seed(String(quoted[1])))
    let (again, _) = try await Self.listen { test, testCase in
      try await SeedTrial(test, testCase).show(seed) { Self.makeSockets() }
    }
    #expect(again == told)
  }

  /// Connects, sends three bytes, and ends with a crash and a failure.
  private static func crash() throws {
    try withSimulation { simulation in
      let (one, other) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let server = try one.run { try Listener(at: SocketAddress(parsing: "10.0.0.1:7007")) }
      let client = try other.run { try Socket(family: AF_INET, .stream) }
      _ = try client.connect(to: server.address)
      simulation.run(for: .milliseconds(1))
      _ = try client.send([1, 2, 3])
      simulation.at(.milliseconds(2)) { other.crash() }
      simulation.run(for: .milliseconds(2))
      Issue.record("the end")
    }
  }

  @Test func `a failure has the last events where they are asked for`() async throws {
    let (told, _) = try await Self.listen { test, testCase in
      try await SeedTrial(test, testCase, eventCount: 4).show(Seed(1, choices: [])) { try Self.crash() }
    }
    let lines = try #require(told.last).split(separator: "\n")
    #expect(
      lines.dropFirst(2) == [
        "The last events:",
        "0.0003 seconds, 10.0.0.1: a part of a handshake from 10.0.0.2",
        "0.0011 seconds, 10.0.0.1: 3 bytes from 10.0.0.2",
        "0.002 seconds: the test's action",
        "0.002 seconds, 10.0.0.2: the host crashes",
      ])
  }

  private static func planFault() {
    withSimulation { simulation in
      let host = simulation.host("10.0.0.1")
      simulation.faults.fail(.socket, with: ENOMEM)
      if host.run({ (try? Socket(family: AF_INET, .stream)) == nil }) { Issue.record("no socket") }
    }
  }

  @Test func `a fault that was planned is told as such`() async throws {
    let (told, _) = try await Self.listen { test, testCase in
      try await SeedTrial(test, testCase).show(Seed(1, choices: [])) { Self.planFault() }
    }
    #expect(
      told.last?.hasSuffix("At 0.0 seconds on 10.0.0.1, socket failed with errno 12 (out of memory), as planned.")
        == true)
  }

  @Test func `a test that passes with a seed is told of by nothing`() async throws {
    let (told, error) = try await Self.listen { test, testCase in
      try await SeedTrial(test, testCase, eventCount: 4).show(1) { _ = Self.choices(Seed.current) }
    }
    #expect(told.isEmpty && error == nil)
  }
}
