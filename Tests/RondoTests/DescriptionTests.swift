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
      #expect("\(timer)" == "timer, every 0.25 seconds, beat, in the default mode and x of \(loop.summary)")
      timer.invalidate()
      #expect("\(timer)" == "timer, every 0.25 seconds, beat, invalid")
      let once = Loop.Timer(after: .seconds(1)) { _ in }
      #expect("\(once)" == "timer RondoTests/DescriptionTests.swift:\(#line - 1), in no loop")
      let observer = Loop.Observer(.all) { _ in }
      loop.add(observer, to: .common)
      #expect("\(observer)".hasPrefix("observer RondoTests/DescriptionTests.swift:"))
      #expect("\(observer)".hasSuffix(", in the default mode of \(loop.summary)"))
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
      loop.perform { stage.note(loop.summary) }
      let before = loop.summary
      loop.run(for: .zero)
      return (before, stage.text)
    }
    #expect(before.hasPrefix("the loop of another thread (") && before.hasSuffix("), not running"))
    #expect(within.hasPrefix("the loop of another thread (") && within.hasSuffix("), at work in the default mode"))
  }

  @Test func `a loop that sleeps says so, to another thread`() {
    let running = RunningLoop { _ in }
    running.waitUntilAsleep()
    #expect(running.loop.summary.hasSuffix(", asleep in the default mode"))
    running.stop()
  }

  @Test func `a loop lists its modes and its items, with their orders, activities and dates`() throws {
    try withVirtualLoop { virtual in
      let loop = virtual.loop
      let timer = Loop.Timer(every: .milliseconds(1500), tolerance: .milliseconds(100)) { _ in }
      timer.name = "beat"
      loop.add(timer, to: .common)
      let source = Loop.Source(order: -2) {}
      source.name = "news"
      loop.add(source, to: "other")
      source.signal()
      let observer = Loop.Observer([.entry, .beforeWaiting], order: 7) { _ in }
      observer.name = "watch"
      loop.add(observer)
      let pipe = TestPipe()
      let descriptor = try Loop.DescriptorSource(pipe.reader, for: .read) { _, _ in }
      descriptor.name = "input"
      loop.add(descriptor)
      let lines = loop.description.split(separator: "\n").map(String.init)
      #expect(lines == loop.debugDescription.split(separator: "\n").map(String.init))
      #expect(lines.first == loop.summary)
      #expect(
        Set(lines.dropFirst()) == [
          "  mode kCFRunLoopDefaultMode, common: 2 items, 1 observers, next timer in 1.5 s", "  mode other: 1 items",
          "  timer beat in the common modes, kCFRunLoopDefaultMode, order 0, in 1.5 s, every 1.5 s ± 100 ms",
          "  source news in other, order -2, signalled",
          "  observer watch in kCFRunLoopDefaultMode, order 7, at entry|beforeWaiting",
          "  descriptor input in kCFRunLoopDefaultMode, order 0, descriptor \(pipe.reader), read",
        ])
    }
  }

  @Test func `a loop of many items lists a hundred lines, and all for debugging`() {
    withVirtualLoop { virtual in
      let loop = virtual.loop
      for _ in 0..<200 { loop.add(Loop.Timer(after: .seconds(1)) { _ in }) }
      let lines = loop.description.split(separator: "\n")
      #expect(lines.count == 102 && lines.last == "  and 101 more")
      #expect(loop.debugDescription.split(separator: "\n").count == 202)
    }
  }

  @Test func `another thread sees a loop's modes, and what it has added is counted`() throws {
    let other = try LoopThread()
    let (own, seen) = onLoopThread { stage in
      let loop = stage.loop
      let seen = try! other.sync {
        loop.add(Loop.Timer(after: .seconds(1)) { _ in }, to: "x")
        return loop.description
      }
      return (loop.description, seen)
    }
    let waiting = "\n  1 changes of other threads wait for the next turn"
    #expect(seen.contains("\n  mode kCFRunLoopDefaultMode") && seen.hasSuffix(waiting))
    #expect(own.hasSuffix(waiting))
  }
}
