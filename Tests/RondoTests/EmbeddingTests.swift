import Rondo
import RondoTesting
import Testing

/// A guest's turns in virtual time: the same as those of a run, cut where the run would sleep.
@Suite struct EmbeddingTests {
  // MARK: - The turn, cut

  @Test func `a turn ends where the run would sleep, and the next begins with its waking`() {
    withStage { stage in
      stage.keepAlive()
      stage.timer("t", after: .milliseconds(10))
      let guest = Loop.Embedding(of: stage.loop)
      #expect(stage.take() == "")
      #expect(guest.turn() == nil)
      #expect(stage.take() == "E BT BS BW")
      #expect(guest.deadline == stage.virtual.now.advanced(by: .milliseconds(10)))
      stage.virtual.spend(.milliseconds(10))
      #expect(guest.turn() == nil)
      #expect(stage.take() == "AW t BT BS BW")
      #expect(guest.deadline == nil)
      guest.end()
      #expect(stage.take() == "X")
    }
  }

  @Test func `a turn that comes too early sleeps on, and no observer hears of it`() {
    withStage { stage in
      stage.timer("t", after: .milliseconds(10))
      let guest = Loop.Embedding(of: stage.loop)
      guest.turn()
      _ = stage.take()
      stage.virtual.spend(.milliseconds(9))
      #expect(guest.turn() == nil)
      #expect(stage.take() == "")
      #expect(stage.loop.statistics.spuriousWakeups == 1)
      guest.end()
    }
  }

  @Test func `a guest tells and serves what a run of its loop does, in the same order`() {
    func play(_ drive: (VirtualStage) -> Void) -> String {
      var text = ""
      withStage { stage in
        stage.keepAlive()
        let (near, far) = (stage.source("near", order: 1), stage.source("far", order: 2))
        let pipe = stage.descriptor("d", UnconnectedSocket.shared)
        stage.timer("t", every: .milliseconds(7)) { _ in
          far.signal()
          near.signal()
        }
        stage.virtual.at(.milliseconds(3)) { stage.block("post") }
        stage.virtual.makeReady(pipe, .read, at: .milliseconds(8))
        stage.virtual.at(.milliseconds(11)) { stage.block("first") { stage.block("second") } }
        stage.virtual.at(.milliseconds(12)) {
          stage.loop.perform { stage.loop.run(for: .milliseconds(1)) }
        }
        stage.virtual.at(.milliseconds(30)) { stage.loop.stop() }
        drive(stage)
        text = stage.text
      }
      return text
    }
    let run = play { $0.loop.run() }
    let embedded = play { stage in
      let guest = Loop.Embedding(of: stage.loop)
      while guest.turn() != .stopped {
        if let deadline = guest.deadline, deadline <= stage.virtual.now { continue }
        stage.virtual.spend(.milliseconds(1))
      }
      guest.end()
    }
    #expect(run == embedded)
    #expect(run.contains("near far"))
  }

  @Test func `work that makes work without end comes back to the host`() {
    withStage(isObserved: false) { stage in
      let again = Later<() -> Void>()
      again.value = { stage.block("b") { again.value() } }
      again.value()
      let guest = Loop.Embedding(of: stage.loop)
      guest.turn()
      let served = stage.take().split(separator: " ").count
      #expect((1...6).contains(served))
      #expect(guest.deadline == stage.virtual.now)
      guest.turn()
      #expect(stage.take().isEmpty == false)
      guest.end()
      again.value = {}
    }
  }

  // MARK: - Runs

  @Test func `a stop ends the run, and the next turn begins another`() {
    withStage { stage in
      stage.keepAlive()
      let guest = Loop.Embedding(of: stage.loop)
      guest.turn()
      stage.loop.stop()
      #expect(guest.deadline == stage.virtual.now)
      #expect(guest.turn() == .stopped)
      #expect(stage.take() == "E BT BS BW AW X")
      #expect(guest.turn() == nil)
      #expect(stage.take() == "E BT BS BW")
      guest.end()
    }
  }

  @Test func `a stop that is requested of a guest with nothing to do is told once`() {
    withStage { stage in
      let guest = Loop.Embedding(of: stage.loop)
      #expect(guest.turn() == .finished)
      stage.loop.requestStop()
      #expect(guest.turn() == .stopped)
      #expect(guest.turn() == .finished)
      #expect(stage.text == "")
      guest.end()
    }
  }

  @Test func `a mode that has become empty ends the run, until something comes`() {
    withStage { stage in
      let guest = Loop.Embedding(of: stage.loop)
      #expect(guest.turn() == .finished)
      #expect(guest.deadline == nil)
      stage.block("b")
      #expect(guest.deadline == stage.virtual.now)
      #expect(guest.turn() == .finished)
      #expect(stage.take() == "E BT BS b X")
      #expect(guest.deadline == nil)
      guest.end()
    }
  }

  @Test func `a callout of a turn may run the loop`() {
    withStage { stage in
      stage.keepAlive()
      stage.timer("inner", after: .milliseconds(5), in: "modal")
      stage.block("b") { #expect(stage.loop.run(in: "modal", for: .milliseconds(9)) == .finished) }
      let guest = Loop.Embedding(of: stage.loop)
      #expect(guest.turn() == nil)
      #expect(stage.take() == "E BT BS b inner BW")
      guest.end()
    }
  }

  @Test func `the end inside a turn holds after it`() {
    withStage { stage in
      stage.keepAlive()
      let guest = Loop.Embedding(of: stage.loop)
      nonisolated(unsafe) let inside = guest
      stage.block("b") { unsafe inside.end() }
      stage.block("c")
      #expect(guest.turn() == .stopped)
      #expect(stage.take() == "E BT BS b c BW AW X")
      #expect(stage.loop.run(for: .zero) == .timedOut)
    }
  }

  @Test func `an embedding that is let go has ended, and the loop may be run or embedded again`() {
    withStage { stage in
      stage.keepAlive()
      do {
        let guest = Loop.Embedding(of: stage.loop)
        guest.turn()
      }
      #expect(stage.take() == "E BT BS BW X")
      stage.loop.run(for: .zero)
      let again = Loop.Embedding(of: stage.loop, in: "other")
      #expect(again.turn() == .finished)
      again.end()
      again.end()
    }
  }

  // MARK: - What watchers see

  @Test func `the loop counts as asleep between turns, in its mode`() {
    withStage { stage in
      stage.keepAlive(in: "guest")
      let guest = Loop.Embedding(of: stage.loop, in: "guest")
      #expect(stage.loop.currentMode == nil)
      guest.turn()
      #expect(stage.loop.isWaiting)
      #expect(stage.loop.currentMode == "guest")
      #expect(stage.loop.heartbeat.depth == 1)
      let statistics = stage.loop.statistics
      #expect(statistics.sleeps == 1)
      stage.loop.wakeUp()
      guest.turn()
      #expect(stage.loop.statistics.wakeupsByPost == 1)
      #expect(stage.loop.statistics.sleeps == 2)
      guest.end()
      #expect(!stage.loop.isWaiting)
      #expect(stage.loop.currentMode == nil)
      #expect(stage.loop.heartbeat.phase == .notRunning)
    }
  }

  @Test func `time asleep is the time between turns`() {
    withStage { stage in
      stage.loop.timesSleep = true
      stage.timer("t", after: .milliseconds(10))
      let guest = Loop.Embedding(of: stage.loop)
      guest.turn()
      stage.virtual.spend(.milliseconds(10))
      guest.turn()
      #expect(stage.loop.statistics.timeAsleep == .milliseconds(10))
      #expect(stage.loop.statistics.wakeupsByTimer == 1)
      guest.end()
    }
  }

  @Test func `a precise timer fires at its date and spins nothing`() {
    withStage(isObserved: false) { stage in
      stage.timer("p", after: .milliseconds(10)).isPrecise = true
      let guest = Loop.Embedding(of: stage.loop)
      guest.turn()
      #expect(guest.deadline == stage.virtual.now.advanced(by: .milliseconds(10)))
      stage.virtual.spend(.milliseconds(10))
      guest.turn()
      #expect(stage.text == "p")
      #expect(stage.loop.statistics.spins == 0)
      guest.end()
    }
  }
}
