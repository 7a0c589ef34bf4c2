import Rondo
import RondoTestSupport
import RondoTesting
import Testing

/// What a mode holds costs as much to leave as to join, however much there is.
@Suite struct ModeSizeTests {
  @Test(arguments: [1_000, 100_000])
  func `observers leave a mode as fast as they joined it`(_ count: Int) {
    let (entries, activities) = onLoopThread { stage -> (Int, String) in
      let loop = stage.loop
      stage.keepAlive()
      let observers = (0..<count).map { _ in Loop.Observer(.beforeTimers) { _ in stage.note("called") } }
      for observer in observers { loop.add(observer) }
      for observer in observers.dropLast() { loop.remove(observer) }
      let left = loop.sizes.observers
      loop.run(for: .zero)
      observers.last!.invalidate()
      loop.run(for: .zero)
      loop.checkInvariants()
      return (left, stage.take())
    }
    #expect(entries <= 2)
    #expect(activities == "called")
  }

  @Test(arguments: [1_000, 100_000])
  func `signalled sources that are invalidated leave nothing behind`(_ count: Int) {
    let sizes = onLoopThread { stage -> Loop.Sizes in
      let loop = stage.loop
      let sources = (0..<count).map { _ in Loop.Source {} }
      for source in sources {
        loop.add(source)
        source.signal()
      }
      for source in sources { source.invalidate() }
      loop.checkInvariants()
      return loop.sizes
    }
    #expect(sizes.items == 0)
    #expect(sizes.signalled <= 33)
  }

  // MARK: - Names

  @Test(.offThePool) func `the name that would be one mode too many is refused where it is made common`() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      onLoopThread { stage in
        for number in 1...64 { stage.loop.addCommonMode(Loop.Mode("m\(number)")) }
      }
    }
    let complaint = result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } ?? ""
    #expect(complaint.contains("mode 'm64' would be one more"))
  }

  @Test func `a loop that has no room for another mode says so where it is asked, on any thread`() {
    let (answers, count) = onLoopThread { stage in
      let loop = stage.loop
      let others = TestThread { (1...70).map { loop.admit(Loop.Mode("m\($0)")) } }.join()
      return (others + [loop.admit("own"), loop.admit("m1"), loop.admit(.common)], loop.modes.count)
    }
    #expect(answers == Array(repeating: true, count: 63) + Array(repeating: false, count: 8) + [true, true])
    #expect(count == 64)
  }

  @Test func `as many names as there is room for may be made common before their modes exist`() {
    let count = onLoopThread { stage -> Int in
      for number in 1...63 { stage.loop.addCommonMode(Loop.Mode("m\(number)")) }
      stage.loop.add(Loop.Timer(after: .seconds(3600)) { _ in }, to: .common)
      return stage.loop.modes.count
    }
    #expect(count == 64)
  }
}
