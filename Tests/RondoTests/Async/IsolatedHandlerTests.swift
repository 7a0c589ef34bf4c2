import Glibc
import Rondo
import RondoAsync
import RondoTestSupport
import RondoTesting
import Testing

/// Handlers that belong to an actor of their loop.
@Suite struct IsolatedHandlerTests {
  /// What its handlers have seen.
  private actor Witness {
    private let loop: Loop
    private let executor: Loop.Executor?
    var seen: [String] = []
    var timeout: Loop.Timeout?

    init(on loop: Loop, in mode: Loop.Mode? = nil) {
      self.loop = loop
      executor = mode.map { loop.executor(in: $0) }
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor {
      unsafe executor?.asUnownedSerialExecutor() ?? loop.asUnownedSerialExecutor()
    }

    func see(_ text: String) { seen.append(text) }

    func addEverything(_ descriptor: CInt) throws {
      loop.add(Loop.Timer.isolated(to: self, after: .zero) { witness, tick in witness.see("timer \(tick.missed)") })
      loop.add(
        Loop.Observer.isolated(to: self, .beforeTimers, repeats: false) { witness, activity in witness.see("observer") }
      )
      loop.add(
        try Loop.DescriptorSource.isolated(to: self, descriptor, for: .write) { witness, source, readiness in
          witness.see("descriptor \(readiness)")
          source.invalidate()
        })
      let source = Loop.Source.isolated(to: self) { witness in witness.see("source") }
      loop.add(source)
      source.signal()
      loop.perform(isolatedTo: self) { witness in witness.see("block") }
      timeout = loop.makeTimeout(isolatedTo: self, after: .zero) { witness in witness.see("timeout") }
    }
  }

  private actor Homeless {}

  @Test(arguments: [nil, Loop.Mode.default])
  func `use the actor's state without waiting, whichever item they are of`(_ mode: Loop.Mode?) async throws {
    var ends: [CInt] = [0, 0]
    try #require(unsafe pipe(&ends) == 0)
    let running = RunningLoop()
    let witness = Witness(on: running.loop, in: mode)
    try await witness.addEverything(ends[1])
    while await witness.seen.count < 6 { try await Task.sleep(for: .milliseconds(1)) }
    #expect(await witness.seen.sorted() == ["block", "descriptor write", "observer", "source", "timeout", "timer 0"])
    running.stop()
    for end in ends { close(end) }
  }

  @Test(.offThePool)
  func `end the program when they join a loop that is not their actor's, with a message that names both`()
    async throws
  {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let (home, other) = (try LoopThread(name: "home"), try LoopThread(name: "other"))
      let witness = Witness(on: home.loop)
      other.loop.add(Loop.Timer.isolated(to: witness, after: .zero) { _, _ in })
    }
    try #require(Self.message(result).contains("A handler of Witness was given to the loop of another thread"))
  }

  @Test(.offThePool) func `of the main actor are refused by other loops`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let other = try LoopThread(name: "other")
      other.loop.add(Loop.Source.isolated(to: MainActor.shared) {})
    }
    try #require(Self.message(result).contains("A handler of MainActor was given to the loop of another thread"))
  }

  @Test(.offThePool) func `of an actor that has no loop are refused by every loop`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      Loop.main.perform(isolatedTo: Homeless()) { _ in }
    }
    try #require(Self.message(result).contains("A handler of Homeless was given to the loop of the main thread"))
  }

  @Test(.offThePool) func `of the main actor are taken by the main loop`() async {
    await #expect(processExitsWith: .success) {
      precondition(Loop.main.add(Loop.Timer.isolated(to: MainActor.shared, after: .seconds(3_600)) { _ in }))
    }
  }

  private static func message(_ result: ExitTest.Result?) -> String {
    String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
  }
}
