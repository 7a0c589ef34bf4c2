import Rondo
import RondoTesting
import Testing

/// What the default does where CFRunLoop serves one kernel event a pass.
@Suite struct DefaultBatchTests {
  @Test func `a source that was signalled in a sleep costs one wait, and what it makes ready waits for the next turn`()
  {
    withVirtualLoop { virtual in
      let stage = Stage(virtual.loop)
      defer { stage.finish() }
      stage.keepAlive()
      let ready = stage.descriptor("A", UnconnectedSocket.shared)
      let source = stage.source("s") { virtual.makeReady(ready, .read) }
      stage.trace.observe(stage.loop)
      virtual.at(.milliseconds(10)) { source.signal() }
      virtual.advance(by: .milliseconds(20))
      #expect(stage.text == "E BT BS BW AW BT BS s BT BS BW AW A BT BS BW AW X")
    }
  }

  @Test func `a wake and a due timer are served in one turn`() {
    withVirtualLoop { virtual in
      let stage = Stage(virtual.loop)
      defer { stage.finish() }
      stage.keepAlive()
      stage.loop.add(Loop.Timer(after: .milliseconds(10)) { _ in stage.note("t") })
      stage.trace.observe(stage.loop)
      virtual.at(.milliseconds(10)) { stage.loop.wakeUp() }
      virtual.advance(by: .milliseconds(20))
      #expect(stage.text == "E BT BS BW AW t BT BS BW AW X")
    }
  }
}
