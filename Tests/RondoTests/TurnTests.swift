import Rondo
import RondoTesting
import Testing

@Suite struct TurnTests {
  @Test func `a run of a mode that does not exist finishes without a callout`() {
    withVirtualLoop { virtual in
      #expect(virtual.loop.run(in: "nowhere", for: .seconds(1)) == .finished)
      #expect(virtual.elapsed == .zero)
    }
  }

  @Test func `a one-shot timer fires once at its date and the mode is finished`() {
    withStage { stage in
      stage.timer("t", after: .milliseconds(20))
      #expect(stage.loop.run(for: .seconds(1)) == .finished)
      #expect(stage.text == "E BT BS BW AW t X")
      #expect(stage.milliseconds == 20)
    }
  }

  @Test func `one turn serves blocks, sources, timers and descriptors in this order`() throws {
    try withStage { stage in
      let descriptor = try Loop.DescriptorSource(UnconnectedSocket.shared, for: .read) { _, _ in
        stage.note("d")
        stage.block("b3")
      }
      stage.loop.add(descriptor)
      stage.virtual.makeReady(descriptor, .read)
      stage.timer("t", after: .zero)
      stage.source("a") { stage.block("b2") }.signal()
      stage.block("b1")
      stage.loop.run(for: .zero)
      #expect(stage.text == "E BT BS b1 a b2 t d b3 X")
    }
  }

  @Test func `a whole batch of ready descriptors is told in one turn`() throws {
    try withStage { stage in
      for name in ["a", "b", "c"] {
        let descriptor = try Loop.DescriptorSource(UnconnectedSocket.shared, for: .read) { _, _ in stage.note(name) }
        stage.loop.add(descriptor)
        stage.virtual.makeReady(descriptor, .read, at: .milliseconds(1))
      }
      stage.loop.run(for: .milliseconds(2))
      #expect(stage.text == "E BT BS BW AW a b c BT BS BW AW X")
    }
  }
}
