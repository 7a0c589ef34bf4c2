import Rondo
import RondoTesting
import Testing

/// What items and loops say of themselves, to people.
@Suite struct DescriptionTests {
  @Test func `an item says what it is, where it was made, and where it is`() throws {
    try withVirtualLoop { virtual in
      let loop = virtual.loop
      let timer = Loop.Timer(every: .milliseconds(250)) { _ in }
      timer.name = "beat"
      #expect("\(timer)" == "timer, every 0.25 seconds, beat, in no loop")
      loop.add(timer)
      loop.add(timer, to: "x")
      #expect("\(timer)" == "timer, every 0.25 seconds, beat, in the default mode and x of \(loop)")
      timer.invalidate()
      #expect("\(timer)" == "timer, every 0.25 seconds, beat, invalid")
      let once = Loop.Timer(after: .seconds(1)) { _ in }
      #expect("\(once)" == "timer RondoTests/DescriptionTests.swift:\(#line - 1), in no loop")
      let observer = Loop.Observer(.all) { _ in }
      loop.add(observer, to: .common)
      #expect("\(observer)".hasPrefix("observer RondoTests/DescriptionTests.swift:"))
      #expect("\(observer)".hasSuffix(", in the default mode of \(loop)"))
      let source = Loop.Source {}
      source.name = "news"
      #expect("\(source)" == "source news, valid")
      let pipe = TestPipe()
      let descriptor = try Loop.DescriptorSource(pipe.reader, for: .read) { _, _ in }
      descriptor.name = "input"
      #expect("\(descriptor)" == "source of descriptor \(pipe.reader) input, in no loop")
    }
  }

  @Test func `a loop says whose it is and what it does`() {
    let (before, within) = onLoopThread { stage in
      let loop = stage.loop
      loop.perform { stage.note("\(loop)") }
      let before = "\(loop)"
      loop.run(for: .zero)
      return (before, stage.text)
    }
    #expect(before.hasPrefix("the loop of another thread (") && before.hasSuffix("), not running"))
    #expect(within.hasPrefix("the loop of another thread (") && within.hasSuffix("), at work in the default mode"))
  }

  @Test func `a loop that sleeps says so, to another thread`() {
    let running = RunningLoop { _ in }
    running.waitUntilAsleep()
    #expect("\(running.loop)".hasSuffix(", asleep in the default mode"))
    running.stop()
  }
}
