import Glibc
import Rondo
import Testing

extension StressTests {
  /// Adds, removes and invalidations from four threads against a running loop.
  @Suite struct MembershipTests {
    private let threads = 4
    private let rounds = 2_000

    @Test func `one-shot timers from four threads fire once each, unless they were taken back`() {
      let running = RunningLoop()
      let loop = running.loop
      let fires = SharedNumber()
      let strays = SharedNumber()
      TestThread.race(threads) { _ in
        for number in 0..<rounds {
          loop.add(Loop.Timer(after: .microseconds(number % 50)) { _ in fires.add() })
          let taken = Loop.Timer(after: .seconds(3_600)) { _ in strays.add() }
          loop.add(taken, to: number % 2 == 0 ? .default : .common)
          if number % 3 == 0 {
            taken.invalidate()
          } else {
            loop.remove(taken, from: number % 2 == 0 ? .default : .common)
          }
          if loop.contains(taken) { strays.add() }
        }
      }
      spin { fires.value >= threads * rounds }
      running.settle()
      running.end()
      #expect(fires.value == threads * rounds)
      #expect(strays.value == 0)
    }

    @Test func `sources from four threads are performed once each and then leave`() {
      let running = RunningLoop()
      let loop = running.loop
      let performs = SharedNumber()
      let schedules = SharedNumber()
      let cancels = SharedNumber()
      TestThread.race(threads) { _ in
        for number in 0..<rounds {
          let done = SharedNumber()
          let source = Loop.Source(
            schedule: { _, _ in schedules.add() }, cancel: { _, _ in cancels.add() },
            perform: {
              performs.add()
              done.set(1)
            })
          // Signalled before or after it joins.
          if number % 2 == 0 { source.signal() }
          loop.add(source)
          if number % 2 == 1 { source.signal() }
          spin { done.value == 1 }
          if number % 3 == 0 { loop.remove(source) } else { source.invalidate() }
        }
      }
      running.settle()
      running.end()
      #expect(performs.value == threads * rounds)
      #expect(schedules.value == threads * rounds)
      #expect(cancels.value == threads * rounds)
    }

    @Test func `nothing is called after its invalidation and a round trip through the loop`() {
      let running = RunningLoop()
      let loop = running.loop
      let late = SharedNumber()
      TestThread.race(threads) { number in
        for _ in 0..<rounds / 10 {
          let isGone = SharedNumber()
          let items: [Loop.Item] = [
            Loop.Observer(.all, order: number) { _ in late.add(isGone.value) },
            Loop.Timer(every: .microseconds(20)) { _ in late.add(isGone.value) },
            Loop.Source { late.add(isGone.value) },
          ]
          for item in items { loop.add(item, to: .common) }
          loop.wakeUp()
          for item in items { item.invalidate() }
          running.settle()
          isGone.set(1)
          loop.wakeUp()
        }
      }
      running.settle()
      running.end()
      #expect(late.value == 0)
    }

    @Test func `descriptor sources from four threads are told, changed, and closed once invalidated`() {
      let running = RunningLoop()
      let loop = running.loop
      let told = SharedNumber()
      let stillOpen = SharedNumber()
      TestThread.race(threads) { _ in
        for number in 0..<rounds / 4 {
          var pair: [CInt] = [0, 0]
          guard unsafe socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &pair) == 0 else {
            continue
          }
          var byte: UInt8 = 1
          _ = unsafe write(pair[1], &byte, 1)
          let done = SharedNumber()
          let source = try? Loop.DescriptorSource(pair[0], for: .read, closesOnInvalidation: true) { source, _ in
            source.disable(.read)
            done.add()
          }
          guard let source else { continue }
          loop.add(source)
          if number % 2 == 0 {
            source.disable(.read)
            source.enable(.read)
          }
          spin { done.value > 0 }
          told.add()
          if number % 3 == 0 { loop.remove(source) }
          source.invalidate()
          // The loop closes its end once nothing watches it.
          running.settle()
          if !isFarEndClosed(pair[1]) { stillOpen.add() }
          close(pair[1])
        }
      }
      running.end()
      #expect(told.value == threads * (rounds / 4))
      #expect(stillOpen.value == 0)
    }

    @Test func `a mode that was filled and emptied by four threads is empty`() {
      let running = RunningLoop()
      let loop = running.loop
      TestThread.race(threads) { number in
        for round in 0..<rounds {
          let timer = Loop.Timer(every: .seconds(3_600)) { _ in }
          let source = Loop.Source {}
          loop.add(timer, to: .common)
          loop.add(source, to: "busy")
          if round % 100 == number { loop.addCommonMode("busy") }
          if round % 2 == 0 { timer.invalidate() } else { loop.remove(timer, from: .common) }
          source.invalidate()
        }
      }
      let result = SharedNumber(-1)
      loop.perform { result.set(loop.run(in: "busy") == .finished ? 1 : 0) }
      spin { result.value >= 0 }
      running.end()
      #expect(result.value == 1)
    }

    @Test func `what has left the common set is in no mode that became common at that moment`() {
      var strays = 0
      for _ in 0..<20 {
        let running = RunningLoop()
        let loop = running.loop
        for number in 0..<50 {
          let mode = Loop.Mode("m\(number)")
          let timer = Loop.Timer(every: .seconds(3_600)) { _ in }
          let isGone = SharedNumber()
          loop.add(timer, to: .common)
          loop.perform {
            loop.remove(timer, from: .common)
            isGone.set(1)
          }
          loop.addCommonMode(mode)
          spin { isGone.value == 1 }
          running.settle()
          if loop.contains(timer, in: mode) { strays += 1 }
        }
        running.end()
      }
      #expect(strays == 0)
    }
  }
}
