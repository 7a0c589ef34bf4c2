import Glibc
import Rondo
import RondoTestSupport
import RondoTesting
import Synchronization
import Testing

/// What has left a loop holds no memory there: the entries of its structures are counted.
@Suite struct SizeTests {
  /// Below this many, stale entries may stay; the structures' own bounds are 64 and 32.
  private static let few = 150

  /// A great many.
  private static let many = isWhole ? 1_000_000 : 30_000

  /// The shapes of timers, by the heap they stand in.
  enum Shape: CaseIterable, Sendable {
    case exact, tolerant, precise

    func make(after delay: Duration) -> Loop.Timer {
      let timer = Loop.Timer(after: delay, tolerance: self == .tolerant ? .milliseconds(10) : .zero) { _ in }
      if self == .precise { timer.isPrecise = true }
      return timer
    }

    func make(every interval: Duration, then more: @escaping @Sendable (Loop.Timer.Tick) -> Void) -> Loop.Timer {
      let tolerance: Duration = self == .tolerant ? .microseconds(10) : .zero
      let timer = Loop.Timer(every: interval, tolerance: tolerance, handler: more)
      if self == .precise { timer.isPrecise = true }
      return timer
    }
  }

  // MARK: - Timers

  @Test(arguments: Shape.allCases)
  func `many cancelled timers beside one that lives leave next to nothing`(_ shape: Shape) {
    withStage(isObserved: false) { stage in
      let alive = shape.make(after: .seconds(3_600))
      stage.loop.add(alive)
      var most = 0
      for number in 0..<Self.many {
        let timer = shape.make(after: .seconds(7_200))
        stage.loop.add(timer)
        if number % 2 == 0 { timer.invalidate() } else { stage.loop.remove(timer) }
        if number % 1_000 == 0 { most = max(most, stage.loop.sizes.timerEntries) }
      }
      let sizes = stage.loop.sizes
      #expect(most <= Self.few)
      #expect(sizes.timerEntries <= Self.few)
      #expect(sizes.items == 1)
      #expect(sizes.slots <= 2)
      #expect(sizes.retired == 0)
      stage.loop.checkInvariants()
    }
  }

  @Test(arguments: Shape.allCases)
  func `what a thousand cancelled timers of ten thousand leave is at most half of the heap`(_ shape: Shape) {
    withStage(isObserved: false) { stage in
      let timers = (0..<10_000).map { _ in shape.make(after: .seconds(3_600)) }
      for timer in timers { stage.loop.add(timer) }
      let perTimer = shape == .tolerant ? 2 : 1
      #expect(stage.loop.sizes.timerEntries == 10_000 * perTimer)
      for (number, timer) in timers.enumerated() where number % 10 != 0 { timer.invalidate() }
      #expect(stage.loop.sizes.timerEntries <= 2 * 1_000 * perTimer + Self.few)
      stage.loop.checkInvariants()
    }
  }

  @Test(arguments: Shape.allCases)
  func `a repeating timer has as many entries after 1,000 fires as before`(_ shape: Shape) {
    withStage(isObserved: false) { stage in
      let fires = Tally()
      stage.loop.add(shape.make(every: .milliseconds(1)) { _ in fires.add() })
      stage.virtual.advance(by: .milliseconds(1_000) + .microseconds(20))
      #expect(fires.count == 1_000)
      #expect(stage.loop.sizes.timerEntries <= Self.few)
      #expect(stage.loop.sizes.items == 1)
      stage.loop.checkInvariants()
    }
  }

  @Test(arguments: Shape.allCases)
  func `a timer that fires 1,000 times in one of its modes leaves no more in a mode that nobody runs`(_ shape: Shape) {
    withStage(isObserved: false) { stage in
      stage.loop.addCommonMode("nobody")
      let fires = Tally()
      stage.loop.add(shape.make(every: .milliseconds(1)) { _ in fires.add() }, to: .common)
      stage.virtual.advance(by: .milliseconds(1_000) + .microseconds(20))
      #expect(fires.count == 1_000)
      #expect(stage.loop.sizes.timerEntries <= 2 * Self.few)
      stage.loop.checkInvariants()
    }
  }

  @Test(arguments: Shape.allCases)
  func `a timer of several modes that changes another one in each of 1,000 fires leaves nothing`(_ shape: Shape) {
    withStage(isObserved: false) { stage in
      stage.loop.addCommonMode("nobody")
      let other = Loop.Timer(after: .seconds(3_600)) { _ in }
      stage.loop.add(other, to: .common)
      let fires = Tally()
      let timer = shape.make(every: .milliseconds(1)) { _ in
        fires.add()
        // The modes arm anew.
        other.setFireDate(after: .seconds(3_600))
      }
      stage.loop.add(timer, to: .common)
      stage.virtual.advance(by: .milliseconds(1_000) + .microseconds(20))
      #expect(fires.count == 1_000)
      #expect(stage.loop.sizes.timerEntries <= 2 * Self.few)
      stage.loop.checkInvariants()
    }
  }

  @Test(arguments: Shape.allCases)
  func `a timer whose date changes 100,000 times back and forth has its own entries alone`(_ shape: Shape) {
    withStage(isObserved: false) { stage in
      let timer = shape.make(after: .seconds(3_600))
      stage.loop.add(timer)
      stage.loop.add(timer, to: "nobody")
      for number in 0..<100_000 { timer.setFireDate(after: .seconds(3_600 + (number % 2 == 0 ? 10 : -10))) }
      #expect(stage.loop.sizes.timerEntries <= 2 * Self.few)
      stage.loop.checkInvariants()
    }
  }

  @Test func `sleeps that are cancelled in a mode nobody runs leave nothing`() async throws {
    let thread = try LoopThread()
    let loop = thread.loop
    loop.addCommonMode("nobody")
    for _ in 0..<100 {
      await withTaskGroup { group in
        for _ in 0..<50 {
          group.addTask { try? await loop.clock.sleep(for: .seconds(3_600), tolerance: .seconds(1)) }
        }
        group.cancelAll()
      }
    }
    let sizes = try await thread.async { Loop.current.sizes }
    #expect(sizes.timerEntries <= 2 * Self.few)
    // The thread's own source.
    #expect(sizes.items == 1)
    #expect(sizes.mailedChanges == 0)
    try await thread.async { Loop.current.checkInvariants() }
    await thread.end()
  }

  @Test func `items and timeouts that come and go by thousands are found, and what has gone is stale`() {
    withStage(isObserved: false) { stage in
      let loop = stage.loop
      let fires = Tally()
      var timers: [Loop.Timer] = []
      var timeouts: [Loop.Timeout] = []
      var discarded: [Loop.Timeout] = []
      for size in [5_000, 20, 8_000, 0, 3_000, 100, 6_000] {
        while timers.count < size {
          timers.append(Loop.Timer(after: .seconds(3_600 + timers.count % 7)) { _ in fires.add() })
          loop.add(timers.last!)
          timeouts.append(
            loop.makeTimeout(after: .seconds(3_600), tolerance: .seconds(timers.count % 2)) { fires.add() })
        }
        timers.shuffle()
        timeouts.shuffle()
        for timer in timers[size...] { timer.invalidate() }
        for timeout in timeouts[size...] {
          loop.discard(timeout)
          discarded.append(timeout)
        }
        timers.removeSubrange(size...)
        timeouts.removeSubrange(size...)
        #expect(timers.allSatisfy { loop.contains($0) })
        #expect(timeouts.allSatisfy { loop.holds($0) && loop.fireDate(of: $0) != nil })
        #expect(!discarded.contains { loop.holds($0) || loop.arm($0, after: .zero) })
        #expect(loop.sizes.items == size && loop.sizes.timeouts == size)
        loop.checkInvariants()
      }
      stage.virtual.advance(by: .seconds(4_000))
      #expect(fires.count == 12_000)
      #expect(loop.sizes.items == 0)
      loop.checkInvariants()
    }
  }

  // MARK: - Sources and observers

  @Test func `descriptor sources that left a common mode nobody runs are let go`() {
    let deaths = Tally()
    final class Mortal: Sendable {
      let deaths: Tally
      init(_ deaths: Tally) { self.deaths = deaths }
      deinit { deaths.add() }
    }
    onLoopThread { stage in
      stage.keepAlive()
      stage.loop.addCommonMode("nobody")
      weak var last: Loop.Item?
      let pipe = stage.pipe()
      for number in 0..<1_000 {
        let mortal = Mortal(deaths)
        let source = stage.descriptor("", pipe.reader, in: .common) { _, _ in _ = mortal }
        last = source
        if number % 3 == 0 { source.disable(.read) }
        if number % 2 == 0 { source.invalidate() } else { stage.loop.remove(source, from: .common) }
        if number % 10 == 0 { stage.loop.run(for: .zero) }
      }
      stage.loop.run(for: .zero)
      #expect(last == nil)
      #expect(deaths.count == 1_000)
      let sizes = stage.loop.sizes
      #expect(sizes.items == 1)
      #expect(sizes.dirtyDescriptors <= Self.few)
      #expect(sizes.retired == 0)
      stage.loop.checkInvariants()
    }
  }

  @Test func `a descriptor that tasks wait for in vain 1,000 times leaves nothing in a mode nobody runs`() async throws
  {
    let thread = try LoopThread()
    let loop = thread.loop
    loop.addCommonMode("nobody")
    let pipe = TestPipe()
    for _ in 0..<1_000 {
      let task = Task { try await loop.readable(pipe.reader) }
      task.cancel()
      _ = await task.result
    }
    let sizes = try await thread.async { Loop.current.sizes }
    #expect(sizes.items == 1)
    #expect(sizes.dirtyDescriptors <= Self.few)
    #expect(sizes.carriedDescriptors == 0)
    await thread.end()
  }

  @Test func `signalled sources that left a common mode nobody runs are let go`() {
    withStage(isObserved: false) { stage in
      stage.keepAlive()
      stage.loop.addCommonMode("nobody")
      weak var last: Loop.Item?
      for number in 0..<10_000 {
        let source = Loop.Source {}
        last = source
        stage.loop.add(source, to: .common)
        source.signal()
        if number % 2 == 0 { source.invalidate() } else { stage.loop.remove(source, from: .common) }
      }
      stage.loop.run(for: .zero)
      #expect(last == nil)
      let sizes = stage.loop.sizes
      #expect(sizes.items == 1)
      #expect(sizes.signalled <= Self.few)
      stage.loop.checkInvariants()
    }
  }

  @Test func `a source signalled and performed 10,000 times stands once in a mode nobody runs`() {
    withStage(isObserved: false) { stage in
      stage.loop.addCommonMode("nobody")
      let source = Loop.Source {}
      stage.loop.add(source, to: .common)
      for _ in 0..<10_000 {
        source.signal()
        stage.loop.run(for: .zero)
      }
      #expect(stage.loop.sizes.signalled <= 2)
      stage.loop.checkInvariants()
    }
  }

  @Test func `observers that came and went leave next to nothing`() {
    withStage(isObserved: false) { stage in
      stage.keepAlive()
      stage.loop.addCommonMode("nobody")
      for number in 0..<10_000 {
        let observer = Loop.Observer(.all, order: number % 3) { _ in }
        stage.loop.add(observer, to: .common)
        if number % 2 == 0 { observer.invalidate() } else { stage.loop.remove(observer, from: .common) }
      }
      let sizes = stage.loop.sizes
      #expect(sizes.observers <= 2 * Self.few)
      #expect(sizes.items == 1)
      stage.loop.checkInvariants()
    }
  }

  @Test func `edges that are carried again and again for sources that leave stay few`() {
    withStage(isObserved: false) { stage in
      let first = stage.descriptor("", UnconnectedSocket.shared, trigger: .edge, order: -1)
      for _ in 0..<10_000 {
        let second = stage.descriptor("", UnconnectedSocket.shared, trigger: .edge)
        for source in [first, second] { stage.virtual.makeReady(source, .read) }
        stage.runUntilHandled()
        second.invalidate()
      }
      #expect(stage.loop.sizes.carriedDescriptors <= Self.few)
      #expect(stage.loop.sizes.items == 1)
      stage.loop.checkInvariants()
    }
  }

  // MARK: - Mail

  /// What another thread changes again and again while the loop is busy.
  enum Changing: CaseIterable, Sendable {
    case date, tolerance, interest, membership, commonMembership
  }

  @Test(arguments: Changing.allCases)
  func `many changes of one item, mailed to a busy loop, are few`(_ changing: Changing) {
    withStage(isObserved: false) { stage in
      stage.keepAlive()
      stage.loop.addCommonMode("nobody")
      let timer = stage.timer("t", every: .seconds(3_600))
      let source = stage.descriptor("d", UnconnectedSocket.shared, in: .common)
      let most = TestThread {
        for number in 0..<Self.many {
          switch changing {
          case .date: timer.setFireDate(after: .seconds(3_600 + (number % 2 == 0 ? 10 : -10)))
          case .tolerance: timer.tolerance = .milliseconds(number % 2)
          case .interest: if number % 2 == 0 { source.disable(.read) } else { source.enable(.read) }
          case .membership: if number % 2 == 0 { stage.loop.remove(timer) } else { stage.loop.add(timer) }
          case .commonMembership:
            if number % 2 == 0 { stage.loop.remove(source, from: .common) } else { stage.loop.add(source, to: .common) }
          }
        }
        return true
      }.join()
      #expect(most)
      #expect(stage.loop.sizes.mailedChanges <= Self.few)
      stage.loop.run(for: .zero)
      #expect(stage.loop.sizes.mailedChanges == 0)
      #expect(stage.loop.sizes.timerEntries <= Self.few)
      #expect(stage.loop.contains(timer) && stage.loop.contains(source, in: "nobody"))
      stage.loop.checkInvariants()
      // And it is where it was, in working order.
      timer.setFireDate(after: .milliseconds(1))
      stage.virtual.makeReady(source, .read)
      stage.virtual.advance(by: .milliseconds(2))
      #expect(Set(stage.take().split(separator: " ")) == ["t", "d"])
    }
  }

  @Test func `many changes of a thousand items, mailed to a busy loop, are a few for each item`() {
    withStage(isObserved: false) { stage in
      stage.keepAlive()
      let timers = (0..<1_000).map { _ in stage.timer("", every: .seconds(3_600)) }
      _ = TestThread {
        for number in 0..<Self.many / 2 {
          let timer = timers[number % 1_000]
          timer.setFireDate(after: .seconds(3_600 + (number % 2_000 < 1_000 ? 10 : -10)))
          if number % 7 == 0 {
            stage.loop.remove(timer)
            stage.loop.add(timer)
          }
        }
        return true
      }.join()
      #expect(stage.loop.sizes.mailedChanges <= 4 * 1_000 + Self.few)
      stage.loop.run(for: .zero)
      #expect(timers.allSatisfy { stage.loop.contains($0) })
      stage.loop.checkInvariants()
    }
  }
}
