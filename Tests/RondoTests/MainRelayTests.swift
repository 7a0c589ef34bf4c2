import Rondo
import Synchronization
import Testing

/// Jobs of the main actor's loop while nobody runs it.
@Suite struct MainRelayTests {
  @Test func `a job that nobody runs the loop for is served by the queue`() {
    withRelayedStage { stage, queue in
      Task(executorPreference: stage.loop) { stage.note("job") }
      #expect(stage.take() == "" && queue.count == 1)
      queue.drain()
      #expect(stage.take() == "job" && queue.count == 0)
    }
  }

  @Test func `jobs share one block of the queue, and those that they enqueue have the next`() {
    withRelayedStage { stage, queue in
      for name in ["a", "b"] {
        Task(executorPreference: stage.loop) {
          stage.note(name)
          Task(executorPreference: stage.loop) { stage.note(name + name) }
        }
      }
      #expect(queue.count == 1)
      queue.drain()
      #expect(stage.take() == "a b" && queue.count == 1)
      queue.drain()
      #expect(stage.take() == "aa bb" && queue.count == 0)
    }
  }

  @Test func `jobs from another thread are served by the queue`() {
    withRelayedStage { stage, queue in
      onAnotherThread { Task(executorPreference: stage.loop) { stage.note("job") } }
      #expect(queue.count == 1)
      queue.drain()
      #expect(stage.take() == "job")
    }
  }

  @Test func `a loop that runs serves its jobs itself`() {
    withRelayedStage { stage, queue in
      stage.block("block") {
        Task(executorPreference: stage.loop) { stage.note("own") }
        onAnotherThread { Task(executorPreference: stage.loop) { stage.note("other's") } }
      }
      stage.loop.run(for: .zero)
      #expect(stage.take() == "block own other's" && queue.count == 0)
    }
  }

  @Test func `a block that finds the loop running leaves the jobs to it`() {
    withRelayedStage { stage, queue in
      Task(executorPreference: stage.loop) { stage.note("job") }
      stage.observer(.beforeTimers) { _ in
        queue.drain()
        stage.note("drained")
      }
      stage.loop.run(for: .zero)
      #expect(stage.take() == "drained job" && queue.count == 0)
    }
  }

  @Test func `what a run leaves, in whichever way it came, is left to the queue`() {
    withRelayedStage { stage, queue in
      stage.keepAlive()
      stage.observer(.exit) { _ in
        Task(executorPreference: stage.loop) { stage.note("own") }
        onAnotherThread { Task(executorPreference: stage.loop) { stage.note("other's") } }
        #expect(queue.count == 0)
      }
      stage.loop.run(for: .zero)
      #expect(stage.take() == "" && queue.count == 1)
      queue.drain()
      #expect(stage.take() == "own other's" && queue.count == 0)
    }
  }

  @Test func `jobs for other modes wait for a run in those`() {
    withRelayedStage { stage, queue in
      Task(executorPreference: stage.loop.executor(in: "m")) { stage.note("job") }
      queue.drain()
      #expect(stage.take() == "" && queue.count == 0)
      stage.loop.run(in: "m", for: .zero)
      #expect(stage.take() == "job")
    }
  }

  @Test func `a run inside a job that the queue serves serves no other jobs, and nothing is lost`() {
    withRelayedStage { stage, queue in
      for name in ["a", "b"] {
        Task(executorPreference: stage.loop) {
          stage.note(name)
          if name == "a" { runBriefly(stage.loop) }
        }
      }
      queue.drain()
      #expect(stage.take() == "a b" && queue.count == 0)
    }
  }

  @Test func `a block that outlives its loop does nothing`() {
    let queue = BlockQueue()
    withStage(isObserved: false) { stage in
      leaveJobs(of: stage.loop, to: queue)
      Task(executorPreference: stage.loop) { stage.note("job") }
      stage.loop.run(for: .zero)
      #expect(stage.take() == "job" && queue.count == 1)
    }
    queue.drain()
    #expect(queue.count == 0)
  }

  @Test func `of jobs that come while runs begin and end, none is left without a run or a block`() {
    withRelayedStage { stage, queue in
      let total = 5_000
      let progress = Progress()
      let thread = TestThread {
        for _ in 0..<total { Task(executorPreference: stage.loop) { progress.served.add(1, ordering: .relaxed) } }
        progress.hasEnded.store(true, ordering: .releasing)
      }
      while !progress.hasEnded.load(ordering: .acquiring) {
        stage.loop.run(for: .zero)
        queue.drain()
      }
      thread.join()
      // No more runs: what they have left is in the queue.
      while queue.count > 0 { queue.drain() }
      #expect(progress.served.load(ordering: .relaxed) == total)
    }
  }
}

/// A stage whose loop has a relay, and the queue that this goes to.
private func withRelayedStage(_ body: (VirtualStage, BlockQueue) -> Void) {
  withStage(isObserved: false) { stage in
    let queue = BlockQueue()
    leaveJobs(of: stage.loop, to: queue)
    body(stage, queue)
  }
}

/// As RondoMain does: its relay is compiled into the tests, which cannot be linked with it.
private func leaveJobs(of loop: Loop, to queue: BlockQueue) {
  let relay = MainRelay(loop) { queue.append($0) }
  loop.leaveJobs { relay.ask() }
}

private final class Progress: Sendable {
  let served = Atomic(0)
  let hasEnded = Atomic(false)
}

/// In a job, which is async code to the compiler.
private func runBriefly(_ loop: Loop) {
  loop.run(for: .zero)
}

private func onAnotherThread(_ body: @escaping @Sendable () -> Void) {
  TestThread(body).join()
}

/// A queue that a test drains when it wants to.
private final class BlockQueue: Sendable {
  private let blocks = Mutex<[@Sendable () -> Void]>([])

  var count: Int { blocks.withLock { $0.count } }

  func append(_ block: @escaping @Sendable () -> Void) {
    blocks.withLock { $0.append(block) }
  }

  /// Calls what is in it now.
  func drain() {
    let due = blocks.withLock { blocks in
      defer { blocks = [] }
      return blocks
    }
    for block in due { block() }
  }
}
