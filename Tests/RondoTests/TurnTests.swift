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
    withVirtualLoop { virtual in
      let trace = Trace()
      trace.observe(virtual.loop)
      nonisolated(unsafe) let t = trace
      virtual.loop.add(Loop.Timer(after: .milliseconds(20)) { _ in t.note("t") })
      #expect(virtual.loop.run(for: .seconds(1)) == .finished)
      #expect(trace.text == "E BT BS BW AW t X")
      #expect(virtual.elapsed == .milliseconds(20))
    }
  }
}
