import Glibc
import RondoTestSupport
import Testing

@testable import Rondo

/// What a debug build says on stderr of what does nothing. Each test has a process of its own, whose stderr it reads.
@Suite(.enabled(if: Hint.isOn)) struct HintTests {
  @Test(.offThePool) func `an item that is freed and was never added says so, once for each place`() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) { Mistake.neverAdd() }
    let hints = result?.hints ?? []
    #expect(hints.count == 4, "\(hints)")
    #expect(hints.first?.hasPrefix("Rondo: The timer RondoTests/HintTests.swift:") == true)
    #expect(hints.allSatisfy { $0.hasSuffix(" was freed and never added to a loop. Add it to one, which keeps it.") })
  }

  @Test(.offThePool) func `an item that was added, removed, invalidated or refused is no mistake`() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      Mistake.useAsMeant()
    }
    #expect(result?.hints == [])
  }

  @Test(.offThePool) func `adding an item that is over, or in another loop, says why nothing happens`() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) { Mistake.addTwice() }
    let hints = result?.hints ?? []
    #expect(hints.count == 2, "\(hints)")
    #expect(hints.first?.contains("is invalid, and was not added to a loop") == true)
    #expect(hints.last?.contains("is in another loop, and was not added to a second one") == true)
  }

  @Test(.offThePool) func `a run in a misspelt mode names the one that was meant, once`() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      Mistake.runMisspelt()
    }
    #expect(
      result?.hints == [
        "Rondo: A run in mode 'traking' finished at once, for nothing was added to it. Did you mean 'tracking'?",
        "Rondo: A run in mode 'default' finished at once, for nothing was added to it. Did you mean Loop.Mode.default?",
        "Rondo: A mode 'Tracking' is made, which runs of other modes do not serve. Did you mean 'tracking'?",
      ])
  }

  @Test(.offThePool) func `a timeout that was discarded, or is another loop's, says so when it is armed`() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) { Mistake.armStale() }
    let hints = result?.hints ?? []
    #expect(hints.count == 2, "\(hints)")
    #expect(hints.first?.contains("has been discarded") == true)
    #expect(hints.last?.contains("is another loop's") == true)
  }

  @Test(arguments: [
    ("tracking", "Tracking"), ("tracking", "traking"), ("tracking", "trackking"), ("tracking", "trakcing"),
    ("tracking", "tracling"),
  ])
  func `a slip of the finger inside a word, or in its case, is a likely mistake`(_ meant: String, _ written: String) {
    #expect(Loop.Mode(meant).isLikelyMeant(by: Loop.Mode(written)))
    #expect(Loop.Mode(written).isLikelyMeant(by: Loop.Mode(meant)))
  }

  @Test(arguments: [
    ("tracking", "tracking"), ("phase-1", "phase-2"), ("phase1", "phase12"), ("client", "clients"), ("read", "raed"),
    ("mode-a-x", "mode-b-x"), ("workerIn", "workerOn"), ("reading", "leading"), ("tracking", "dragging"), ("", "x"),
  ])
  func `names that programs tell their modes apart by are none`(_ one: String, _ other: String) {
    #expect(!Loop.Mode(one).isLikelyMeant(by: Loop.Mode(other)))
    #expect(!Loop.Mode(other).isLikelyMeant(by: Loop.Mode(one)))
  }
}

/// Whom a fatal message names.
@Suite struct BlameTests {
  @Test(.offThePool) func `a timer made with an impossible interval names the line that makes it`() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Loop.Timer(every: .zero) { _ in }
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("RondoTests/HintTests.swift:\(#line - 4): Fatal error: A repeating timer needs an interval"))
  }
}

extension ExitTest.Result {
  fileprivate var hints: [String] {
    String(decoding: standardErrorContent, as: UTF8.self).split(separator: "\n").map(String.init)
      .filter { $0.hasPrefix("Rondo: ") }
  }
}

/// What the exit tests do, in synchronous functions because loops belong to threads.
private enum Mistake {
  static func neverAdd() {
    for _ in 0..<3 { _ = Loop.Timer(every: .seconds(1)) { _ in } }
    _ = Loop.Source {}
    _ = Loop.Observer(.all) { _ in }
    let pipe = TestPipe()
    _ = try! Loop.DescriptorSource(pipe.reader, for: .read) { _, _ in }
  }

  static func useAsMeant() {
    let loop = Loop.current
    let ended = try! LoopThread()
    ended.stop()
    loop.add(Loop.Timer(after: .zero) { _ in })
    loop.run(for: .zero)
    let timer = Loop.Timer(every: .seconds(1)) { _ in }
    loop.add(timer)
    loop.remove(timer)
    let source = Loop.Source {}
    source.invalidate()
    ended.loop.add(Loop.Source {})
    ended.loop.add(Loop.Observer(.all) { _ in })
    // In two loops, and so with one that stands for it.
    let thread = try! LoopThread()
    let shared = Loop.Source {}
    loop.add(shared)
    thread.loop.add(shared)
    shared.invalidate()
    thread.stop()
    // Nothing was ever added to these, on purpose.
    loop.run(in: .eventTracking, for: .zero)
    loop.run(in: "nothing", for: .zero)
  }

  static func addTwice() {
    let loop = Loop.current
    let timer = Loop.Timer(after: .zero) { _ in }
    loop.add(timer)
    loop.run(for: .zero)
    loop.add(timer)
    loop.add(timer)
    let thread = try! LoopThread()
    let observer = Loop.Observer(.all) { _ in }
    thread.loop.add(observer)
    loop.add(observer)
    observer.invalidate()
    thread.stop()
  }

  static func runMisspelt() {
    let loop = Loop.current
    loop.add(Loop.Timer(every: .seconds(3_600)) { _ in }, to: "tracking")
    for _ in 0..<2 { loop.run(in: "traking", for: .zero) }
    loop.run(in: "default", for: .zero)
    loop.run(in: "other", for: .zero)
    loop.add(Loop.Timer(every: .seconds(3_600)) { _ in }, to: "Tracking")
  }

  static func armStale() {
    let loop = Loop.current
    let timeout = loop.makeTimeout {}
    loop.arm(timeout, after: .seconds(1))
    loop.discard(timeout)
    for _ in 0..<2 { loop.arm(timeout, after: .seconds(1)) }
    let thread = try! LoopThread()
    let foreign = try! thread.sync { Loop.current.makeTimeout {} }
    loop.arm(foreign, at: .now)
    thread.stop()
  }
}
