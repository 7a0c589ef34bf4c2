import Rondo
import RondoTesting
import Synchronization
import Testing

/// What a seed changes, and what it leaves alone.
@Suite struct SeedTests {
  /// What a loop does with things that are tied, and what its contract orders, as one text.
  private static func play(_ seed: Seed?) throws -> String {
    try withVirtualLoop(seed: seed) { virtual in
      let (loop, trace) = (virtual.loop, Trace())
      let pipes = (0..<3).map { _ in TestPipe() }
      defer { withExtendedLifetime(pipes) {} }
      for (name, pipe) in zip(["a", "b", "c"], pipes) {
        loop.add(Loop.Timer(after: .seconds(1)) { _ in trace.note("timer-\(name)") })
        let source = Loop.Source { trace.note("source-\(name)") }
        loop.add(source)
        virtual.at(.seconds(2)) { source.signal() }
        Task(executorPreference: loop) { trace.note("job-\(name)") }
        pipe.write(1)
        let input = try Loop.DescriptorSource(pipe.reader, for: .read) { source, _ in
          trace.note("pipe-\(name)")
          source.invalidate()
        }
        loop.add(input)
        virtual.at(.seconds(3)) { trace.note("event-\(name)") }
        virtual.at(.seconds(4)) { loop.perform { trace.note("block-\(name)") } }
      }
      virtual.looksAtDescriptors = true
      virtual.advance(by: .seconds(5))
      return trace.text
    }
  }

  private static let documented = """
    job-a job-b job-c pipe-a pipe-b pipe-c timer-a timer-b timer-c source-a source-b source-c event-a event-b event-c \
    block-a block-b block-c
    """

  @Test func `without a seed tied things go in the documented order`() throws {
    #expect(try Self.play(nil) == Self.documented)
  }

  @Test func `a seed whose choices are all left out takes the documented order`() throws {
    #expect(try Self.play(Seed(7, choices: [])) == Self.documented)
  }

  @Test func `one seed gives one order, in every run`() throws {
    for number in 1...20 as ClosedRange<UInt64> {
      let (one, other) = (try Self.play(Seed(number)), try Self.play(Seed(number)))
      #expect(one == other)
    }
  }

  @Test func `seeds bring all orders of what is tied, and none of what is not`() throws {
    var orders: [String: Set<String>] = [:]
    for number in 1...200 as ClosedRange<UInt64> {
      let tokens = try Self.play(Seed(number)).split(separator: " ")
      let kinds = tokens.map { $0.prefix { $0 != "-" } }
      // Kinds never mix.
      #expect(kinds.enumerated().filter { $0 == 0 || kinds[$0 - 1] != $1 }.count == 6)
      for kind in Set(kinds) {
        orders[String(kind), default: []].insert(tokens.filter { $0.hasPrefix(kind) }.joined(separator: " "))
      }
    }
    #expect(orders.mapValues(\.count) == ["job": 6, "pipe": 6, "timer": 6, "source": 6, "event": 6, "block": 6])
  }

  @Test func `order decides before a seed does`() {
    for number in 1...50 as ClosedRange<UInt64> {
      withVirtualLoop(seed: Seed(number)) { virtual in
        let trace = Trace()
        for order in [3, 1, 2] {
          virtual.loop.add(Loop.Timer(after: .seconds(1), order: order) { _ in trace.note("\(order)") })
          let source = Loop.Source(order: order) { trace.note("s\(order)") }
          virtual.loop.add(source)
          source.signal()
        }
        virtual.advance(by: .seconds(2))
        #expect(trace.text == "s1 s2 s3 1 2 3")
      }
    }
  }

  @Test(arguments: ["17", "17:", "17:3", "17:0,3,12"])
  func `a seed is read as it is written`(_ text: String) throws {
    #expect(try #require(Seed(text)).description == text)
  }

  @Test(arguments: ["", "x", "-1", "17:a", "17:-1", "17:1,,2", "17;1"])
  func `a text that is no seed gives none`(_ text: String) {
    #expect(Seed(text) == nil)
  }

  // MARK: - The trait

  private static let seen = Mutex<[Seed]>([])

  @Test(.seeds(5, from: 40)) func `a test runs with each seed of its trait`() throws {
    let seed = try #require(Seed.current)
    withVirtualLoop { virtual in #expect(virtual.seed == seed) }
    let seen = Self.seen.withLock { seen in
      seen.append(seed)
      return seen
    }
    #expect(seen == (40..<40 + UInt64(seen.count)).map { Seed($0) })
  }

  /// Fails when of ten tied timers the fourth fires before the third.
  private static func fails(_ seed: Seed) -> (fails: Bool, places: Set<Int>) {
    let log = RunLog()
    return RunLog.$current.withValue(log) {
      withVirtualLoop(seed: seed) { virtual in
        let trace = Trace()
        for index in 0..<10 { virtual.loop.add(Loop.Timer(after: .seconds(1)) { _ in trace.note("\(index)") }) }
        virtual.advance(by: .seconds(2))
        return (trace.tokens.firstIndex(of: "3")! < trace.tokens.firstIndex(of: "2")!, log.places)
      }
    }
  }

  @Test func `a seed that fails is made smaller until each choice that is left is needed`() async throws {
    let first = try #require((1...100).lazy.map { Seed($0) }.first { Self.fails($0).fails })
    let places = Self.fails(first).places
    let smallest = await first.smallest(of: places) { Self.fails($0).fails }
    let choices = try #require(smallest.choices)
    #expect(Self.fails(smallest).fails)
    #expect(choices.count < places.count && choices.count <= 2)
    for place in choices { #expect(!Self.fails(Seed(first.number, choices: choices.subtracting([place]))).fails) }
  }

  /// Which of so many tied timers fires last.
  private static func last(of count: Int) -> String? {
    withVirtualLoop { virtual in
      let trace = Trace()
      for index in 1...count { virtual.loop.add(Loop.Timer(after: .seconds(1)) { _ in trace.note("\(index)") }) }
      virtual.advance(by: .seconds(1))
      return trace.tokens.last
    }
  }

  /// What the trait records for a test of four tied timers that fails if one of them fires last, and its last seed.
  private static func record(failingIfLast index: String) async throws -> (told: [String], last: Seed) {
    let told = Mutex<[String]>([])
    let runs = Mutex<[Seed]>([])
    let (test, testCase) = (try #require(Test.current), try #require(Test.Case.current))
    let listening = IssueHandlingTrait.compactMapIssues { issue in
      told.withLock { $0.append(issue.comments.map(\.rawValue).joined()) }
      return nil
    }
    try await listening.provideScope(for: test, testCase: testCase) {
      try await SeedsTrait.seeds(100).provideScope(for: test, testCase: testCase) {
        runs.withLock { $0.append(Seed.current!) }
        if Self.last(of: 4) == index { Issue.record("it fired last") }
      }
    }
    let last = runs.withLock { $0.last }
    return (told.withLock { $0 }, try #require(last))
  }

  @Test func `a test that fails with a seed is run again with the smallest, and the line that replays it is told`()
    async throws
  {
    let (told, last) = try await Self.record(failingIfLast: "1")
    #expect(last.choices?.isEmpty == false)
    #expect(told.count == 2 && told.first == "it fired last")
    let lines = try #require(told.last).split(separator: "\n")
    #expect(
      lines.first == """
        RONDO_SEED="\(last)" swift test --filter 'a test that fails with a seed is run again with the smallest, and the line \
        that replays it is told' replays it.
        """)
    #expect(lines.dropFirst().count == last.choices?.count)
    #expect(lines.dropFirst().allSatisfy { $0.hasPrefix("At 1.0 seconds, a timer went before ") })
  }

  @Test func `a test that fails without any choice says that it fails in the documented order`() async throws {
    let (told, last) = try await Self.record(failingIfLast: "4")
    #expect(last.choices == [])
    #expect(
      told == [
        "it fired last",
        """
        RONDO_SEED="\(last)" swift test --filter 'a test that fails without any choice says that it fails in the documented \
        order' replays it.
        No choice is needed: it fails in the documented order.
        """,
      ])
  }

  @Test func `a test that passes with every seed runs once with each`() async throws {
    let runs = Mutex<[Seed?]>([])
    try await SeedsTrait.seeds(3, from: 7).provideScope(for: #require(Test.current), testCase: Test.Case.current) {
      runs.withLock { $0.append(Seed.current) }
    }
    #expect(runs.withLock { $0 } == [7, 8, 9])
  }

  @Test func `a variable of the environment has a test run with as many seeds`() {
    let trait = SeedsTrait.seeds(3, from: 7)
    #expect(trait.numbers(asked: nil) == 7..<10)
    #expect(trait.numbers(asked: "5") == 7..<12)
    for text in ["", "0", "-1", "many", "18446744073709551615"] { #expect(trait.numbers(asked: text) == nil) }
  }
}
