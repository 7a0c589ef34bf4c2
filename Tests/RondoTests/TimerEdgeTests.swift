import Glibc
import RondoTestSupport
import RondoTesting
import Testing

@testable import Rondo

/// The timerfd tells of a date once. Whoever collects that has accounted for it.
@Suite struct TimerEdgeTests {
  @Test func `a date whose edge a look has collected is armed again`() {
    onLoopThread { stage in
      let core = stage.loop.core
      let kernel = core.wait.kernel!
      let mode = core.modeState(0)
      unsafe mode.frameForRun()._withUnsafeGuaranteedRef { frame in
        let epoll = kernel.choose(mode.index, servesMainQueue: false)
        let date = kernel.now.advanced(by: 1_000_000)
        for _ in 0..<3 {
          kernel.arm(date)
          #expect(isReadable(epoll))
          _ = kernel.wait(in: mode.index, false, into: &frame.ready, blocks: false)
        }
      }
    }
  }

  @Test func `an edge that a look in one mode has collected is armed again in every mode`() {
    onLoopThread { stage in
      stage.loop.add(Loop.Source {}, to: "other")
      stage.loop.run(for: .zero)
      let core = stage.loop.core
      let kernel = core.wait.kernel!
      let epolls = (0..<2).map { kernel.choose($0, servesMainQueue: false) }
      let date = kernel.now.advanced(by: 1_000_000)
      for index in [0, 1, 0, 1] {
        unsafe core.modeState(index).frameForRun()._withUnsafeGuaranteedRef { frame in
          _ = kernel.choose(index, servesMainQueue: false)
          kernel.arm(date)
          #expect(isReadable(epolls[index]))
          _ = kernel.wait(in: index, false, into: &frame.ready, blocks: false)
        }
      }
    }
  }

  @Test func `a guest whose host was busy past a timer's date is called for it`() {
    onLoopThread { stage in
      let clock = SuspendingClock()
      stage.block("a") { stage.block("b") { stage.block("c") } }
      let timer = stage.timer("t", after: .milliseconds(20))
      let date = timer.fireDate
      let guest = Loop.Embedding(of: stage.loop)
      guest.turn()
      while clock.now <= date { yieldThread() }
      // What it posts to itself keeps it readable for a turn or two, and then the timer does.
      while !stage.text.hasSuffix("t"), isReadable(guest.descriptor) { guest.turn() }
      #expect(stage.text == "a b c t")
      guest.end()
    }
  }

  /// Waits for it if it has to.
  private func isReadable(_ descriptor: CInt) -> Bool {
    var query = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&query, 1, 1_000 * CInt(patience)) == 1
  }
}
