import Rondo
import Testing

/// What a loop that refuses an item says.
@Suite struct RefusalTests {
  @Test func `an item that may join is not refused`() {
    let loop = Loop.current
    let timer = Loop.Timer(after: .seconds(3_600)) { _ in }
    #expect(loop.refusal(of: timer) == nil)
    loop.add(timer)
    #expect(loop.refusal(of: timer) == nil)
    timer.invalidate()
  }

  @Test func `an invalid item is told from one in another loop, and from a loop that has ended`() throws {
    let (thread, ended) = (try LoopThread(), try LoopThread())
    ended.stop()
    let timer = Loop.Timer(after: .seconds(3_600)) { _ in }
    #expect(!ended.loop.add(timer) && ended.loop.refusal(of: timer) == .loopHasEnded)
    thread.loop.add(timer)
    #expect(!Loop.current.add(timer) && Loop.current.refusal(of: timer) == .itemIsElsewhere)
    timer.invalidate()
    #expect(!thread.loop.add(timer) && thread.loop.refusal(of: timer) == .itemIsInvalid)
    thread.stop()
  }

  @Test func `a source is never elsewhere`() throws {
    let thread = try LoopThread()
    let source = Loop.Source {}
    thread.loop.add(source)
    #expect(Loop.current.refusal(of: source) == nil)
    #expect(Loop.current.add(source))
    source.invalidate()
    thread.stop()
  }

  @Test func `each refusal says what to do`() {
    #expect(Loop.Refusal.itemIsInvalid.description.contains("make a new one"))
    #expect(Loop.Refusal.itemIsElsewhere.description.contains("remove it there first"))
  }
}
