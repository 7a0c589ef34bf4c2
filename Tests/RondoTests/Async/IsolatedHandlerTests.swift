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
    private let executor: (any SerialExecutor)?
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
      loop.add(Loop.Timer(after: .zero, handler: isolated(to: self) { witness, _ in witness.see("timer") }))
      loop.add(
        Loop.Observer(
          .beforeTimers, repeats: false, handler: isolated(to: self) { witness, _ in witness.see("observer") }))
      loop.add(
        try Loop.DescriptorSource(
          descriptor, for: .write,
          handler: isolated(to: self) { witness, source, readiness in
            witness.see("descriptor \(readiness)")
            source.invalidate()
          }))
      let source = Loop.Source(perform: isolated(to: self) { witness in witness.see("source") })
      loop.add(source)
      source.signal()
      loop.perform(isolated(to: self) { witness in witness.see("block") })
      timeout = loop.makeTimeout(after: .zero, handler: isolated(to: self) { witness in witness.see("timeout") })
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
    #expect(await witness.seen.sorted() == ["block", "descriptor write", "observer", "source", "timeout", "timer"])
    running.stop()
    for end in ends { close(end) }
  }

  @Test(.offThePool)
  func `end the program when a loop calls them that is not their actor's, with a message that names both`()
    async throws
  {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let (home, other) = (try LoopThread(name: "home"), try LoopThread(name: "other"))
      let witness = Witness(on: home.loop)
      other.loop.add(Loop.Timer(after: .zero, handler: isolated(to: witness) { _, _ in }))
      try await Task.sleep(for: .seconds(600))
      await other.end()
    }
    try #require(Self.message(result).contains("A handler of Witness was given to the loop of another thread"))
  }

  @Test(.offThePool, arguments: [0, 1, 2])
  func `of the main actor, with any number of arguments, end the program on other loops`(_ count: Int) async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      [count = count as Int] in
      let other = try LoopThread(name: "other")
      switch count {
      case 0: other.loop.perform(isolated(to: .shared) {})
      case 1: other.loop.add(Loop.Timer(after: .zero, handler: isolated(to: .shared) { _ in }))
      default:
        var ends: [CInt] = [0, 0]
        _ = unsafe pipe(&ends)
        other.loop.add(try Loop.DescriptorSource(ends[1], for: .write, handler: isolated(to: .shared) { _, _ in }))
      }
      try await Task.sleep(for: .seconds(600))
      await other.end()
    }
    try #require(Self.message(result).contains("A handler of MainActor was given to the loop of another thread"))
  }

  @Test(.offThePool) func `of an actor that has no loop end the program on every loop`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let thread = try LoopThread(name: "other")
      thread.loop.perform(isolated(to: Homeless()) { _ in })
      try await Task.sleep(for: .seconds(600))
      await thread.end()
    }
    try #require(Self.message(result).contains("A handler of Homeless was given to the loop of another thread"))
  }

  private static func message(_ result: ExitTest.Result?) -> String {
    String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
  }
}
