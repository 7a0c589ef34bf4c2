import Glibc
import Rondo
import RondoTestSupport
import RondoTesting
import Testing

/// Jobs of actors and tasks on a loop: order, modes, bounds, isolation.
@Suite struct ExecutorTests {
  // MARK: - Where and when

  @Test func `a task that prefers a loop runs when the loop does, on its thread`() {
    withStage { stage in
      let thread = pthread_self()
      Task(executorPreference: stage.loop) { stage.note(pthread_self() == thread ? "here" : "elsewhere") }
      #expect(stage.take() == "")
      #expect(stage.loop.run() == .finished)
      #expect(stage.take() == "E BT BS here X")
      #expect(stage.loop.statistics.jobCallouts == 1)
    }
  }

  @Test func `an actor bound to a loop runs on its thread`() async throws {
    let thread = try LoopThread()
    let counter = Counter(thread.loop)
    for _ in 0..<100 { #expect(await counter.isOn(thread)) }
    await thread.end()
  }

  @Test(.offThePool) func `threads that name a loop for the first time find the same lanes`() throws {
    let racers = try (0..<3).map { _ in try LoopThread() }
    for _ in 0..<300 {
      let thread = try LoopThread()
      let found = Guarded<Set<ObjectIdentifier>>([])
      for racer in racers {
        racer.execute { found.withLock { _ = $0.insert(ObjectIdentifier(thread.loop.actorLane)) } }
      }
      for racer in racers { try racer.sync {} }
      #expect(found.withLock { $0 } == [ObjectIdentifier(thread.loop.actorLane)])
    }
  }

  @Test func `a job that comes while the loop is about to sleep keeps it awake`() {
    withStage { stage in
      stage.keepAlive()
      stage.observer(.beforeWaiting, repeats: false, order: 1) { _ in
        Task(executorPreference: stage.loop) {
          stage.note("job")
          stage.loop.stop()
        }
      }
      #expect(stage.loop.run() == .stopped)
      #expect(stage.take() == "E BT BS BW AW job X")
      #expect(stage.virtual.sleeps == 0)
    }
  }

  @Test func `jobs run in order of enqueue within a priority, higher priorities first`() {
    withStage(isObserved: false) { stage in
      for round in 1...3 {
        for (name, priority) in [("low", TaskPriority.low), ("high", .high), ("medium", .medium)] {
          Task(executorPreference: stage.loop, priority: priority) { stage.note("\(name)\(round)") }
        }
      }
      stage.loop.run(for: .zero)
      #expect(stage.text == "high1 high2 high3 medium1 medium2 medium3 low1 low2 low3")
    }
  }

  @Test func `a job enqueued by a job waits for the next time jobs are served`() {
    withStage { stage in
      Task(executorPreference: stage.loop) {
        stage.note("first")
        Task(executorPreference: stage.loop) {
          stage.note("second")
          Task(executorPreference: stage.loop) { stage.note("third") }
        }
      }
      stage.loop.run()
      // After the first the turn looks without sleeping, and serves the second where it ends.
      #expect(stage.text == "E BT BS first second BT BS third X")
    }
  }

  @Test func `a flood of jobs is served 256 at a time, with timers and descriptors between`() {
    withStage(isObserved: false) { stage in
      let served = Later(0)
      for _ in 0..<1000 { Task(executorPreference: stage.loop) { served.value += 1 } }
      stage.timer("timer", after: .zero) { _ in stage.note("after \(served.value!)") }
      let pipe = stage.pipe()
      let source = stage.descriptor("descriptor", pipe.reader) { source, _ in
        stage.note("after \(served.value!)")
        source.invalidate()
      }
      stage.virtual.makeReady(source, .read)
      stage.loop.run()
      #expect(stage.text == "timer after 256 descriptor after 256")
      #expect(served.value == 1000)
      #expect(stage.loop.statistics.turns == 2)
      #expect(stage.virtual.sleeps == 0)
    }
  }

  @Test func `a waiting job keeps a run from being finished`() {
    withStage(isObserved: false) { stage in
      #expect(stage.loop.run() == .finished)
      #expect(stage.loop.statistics.turns == 0)
      Task(executorPreference: stage.loop) {}
      #expect(stage.loop.run() == .finished)
      #expect(stage.loop.statistics.turns == 1)
    }
  }

  // MARK: - Modes

  @Test func `jobs are served in common modes only`() {
    withStage(isObserved: false) { stage in
      stage.keepAlive(in: "m")
      Task(executorPreference: stage.loop) { stage.note("job") }
      stage.loop.run(in: "m", for: .milliseconds(1))
      #expect(stage.text == "")
      stage.loop.addCommonMode("m")
      stage.loop.run(in: "m", for: .milliseconds(1))
      #expect(stage.text == "job")
    }
  }

  @Test func `an executor's jobs are served in its modes only`() {
    withStage(isObserved: false) { stage in
      let executor = stage.loop.executor(in: "m", "n")
      for name in ["one", "two"] { Task(executorPreference: executor) { stage.note(name) } }
      #expect(stage.loop.run() == .finished)
      #expect(stage.take() == "")
      #expect(stage.loop.run(in: "n") == .finished)
      #expect(stage.take() == "one two")
    }
  }

  @Test func `an actor of an executor runs in its modes only`() {
    withStage(isObserved: false) { stage in
      let actor = ModalCounter(stage.loop.executor(in: "m"))
      Task(executorPreference: stage.loop) {
        stage.note("task")
        await actor.note("actor", stage)
        stage.note("back")
      }
      stage.loop.run()
      #expect(stage.take() == "task")
      stage.loop.run(in: "m")
      #expect(stage.take() == "actor")
      stage.loop.run()
      #expect(stage.take() == "back")
    }
  }

  @Test func `executors of a mode share its jobs by priority`() {
    withStage(isObserved: false) { stage in
      let executor = stage.loop.executor(in: .default)
      Task(executorPreference: stage.loop, priority: .low) { stage.note("low") }
      Task(executorPreference: executor, priority: .high) { stage.note("high") }
      Task(executorPreference: stage.loop, priority: .medium) { stage.note("medium") }
      stage.loop.run()
      #expect(stage.text == "high medium low")
    }
  }

  @Test func `a run nested in a job serves no job, one nested in a timer does`() {
    withStage(isObserved: false) { stage in
      Task(executorPreference: stage.loop) {
        stage.note("first")
        runNested(stage)
        stage.note("end")
      }
      Task(executorPreference: stage.loop) { stage.note("second") }
      stage.loop.run()
      #expect(stage.take() == "first finished end second")

      stage.timer("timer", after: .zero) { _ in
        Task(executorPreference: stage.loop) { stage.note("job") }
        runNested(stage)
      }
      stage.loop.run()
      #expect(stage.take() == "timer job timedOut")
    }
  }

  // MARK: - Hops

  @Test func `functions of one actor, and actors of one loop, call each other without a job`() async throws {
    let thread = try LoopThread()
    let (first, second) = (Counter(thread.loop), Counter(thread.loop))
    await first.callOften(100, second)
    #expect(thread.loop.statistics.jobCallouts == 1)
    #expect(await second.count == 100)
    await thread.end()
  }

  @Test func `functions without isolation call each other without a job in a task that prefers the loop`() {
    withStage(isObserved: false) { stage in
      Task(executorPreference: stage.loop) {
        var sum = 0
        for number in 0..<100 { sum += await same(number) }
        stage.note("\(sum)")
      }
      stage.loop.run()
      #expect(stage.text == "4950")
      #expect(stage.loop.statistics.jobCallouts == 1)
    }
  }

  @Test func `withTaskExecutorPreference brings a task to the loop and back`() async throws {
    let thread = try LoopThread()
    let isThere = await withTaskExecutorPreference(thread.loop) { thread.isCurrent }
    #expect(isThere)
    #expect(!thread.isCurrent)
    await thread.end()
  }

  @Test func `a default actor's functions run on the loop that a task prefers`() {
    withStage(isObserved: false) { stage in
      actor Plain {
        func isOn(_ thread: pthread_t) -> Bool { pthread_self() == thread }
      }
      let (plain, thread) = (Plain(), pthread_self())
      Task(executorPreference: stage.loop) { stage.note("\(await plain.isOn(thread))") }
      stage.loop.run()
      #expect(stage.text == "true")
    }
  }

  // MARK: - Isolation

  @Test func `handlers on the loop's thread may assume the isolation of its actors`() {
    withStage(isObserved: false) { stage in
      let counter = Counter(stage.loop)
      stage.timer("timer", after: .zero) { _ in
        counter.assumeIsolated { $0.count += 1 }
        counter.preconditionIsolated()
        counter.assertIsolated()
      }
      stage.block("block") { counter.assumeIsolated { $0.count += 1 } }
      stage.loop.run()
      #expect(counter.assumeIsolated { $0.count } == 2)
    }
  }

  @Test func `inside an actor of one executor the others of the loop are isolated too`() {
    withStage(isObserved: false) { stage in
      let (counter, modal) = (Counter(stage.loop), ModalCounter(stage.loop.executor(in: .default)))
      Task(executorPreference: stage.loop) { stage.note("\(await counter.touch(modal))") }
      stage.loop.run()
      #expect(stage.text == "1")
    }
  }

  @Test func `a loop isolates its own thread and no other`() {
    let running = RunningLoop()
    let executor = running.loop.executor(in: .default)
    let inside = Handover<[Bool?]>()
    running.loop.perform {
      inside.put([running.loop.isIsolatingCurrentContext(), executor.isIsolatingCurrentContext()])
    }
    #expect(inside.take() == [true, true])
    #expect(running.loop.isIsolatingCurrentContext() == false)
    #expect(executor.isIsolatingCurrentContext() == false)
    running.stop()
  }

  @Test func `loops of one thread exclude each other, loops of two do not`() {
    let running = RunningLoop()
    withVirtualLoop { first in
      withVirtualLoop { second in
        #expect(first.loop.isSameExclusiveExecutionContext(other: second.loop))
        #expect(!first.loop.isSameExclusiveExecutionContext(other: running.loop))
        let (one, other) = (first.loop.executor(in: "m"), first.loop.executor(in: "n"))
        #expect(one.isSameExclusiveExecutionContext(other: other))
        #expect(!one.isSameExclusiveExecutionContext(other: running.loop.executor(in: "m")))
      }
    }
    running.stop()
  }

  @Test(.offThePool) func `assuming a loop's isolation on another thread is a programmer's error`() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let counter = Counter(RunningLoop().loop)
      counter.preconditionIsolated()
    }
    #expect(result?.complaint.contains("Incorrect actor executor assumption") == true)
  }

  @Test(.offThePool) func `checkIsolated on another thread says what to do`() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      RunningLoop().loop.checkIsolated()
    }
    #expect(result?.complaint.contains("use loop.perform { }") == true)
  }
}

/// Bound to a loop as the documentation says.
private actor Counter {
  private let loop: Loop
  var count = 0

  init(_ loop: Loop) {
    self.loop = loop
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

  func add(_ amount: Int) { count += amount }

  func isOn(_ thread: LoopThread) -> Bool { thread.isCurrent }

  func callOften(_ times: Int, _ other: Counter) async {
    for _ in 0..<times {
      await other.add(1)
      await addLater(1)
    }
  }

  private func addLater(_ amount: Int) async { count += amount }

  func touch(_ modal: ModalCounter) -> Int {
    modal.assumeIsolated { modal in
      modal.count += 1
      return modal.count
    }
  }
}

/// Bound to an executor for some modes.
private actor ModalCounter {
  private let executor: any SerialExecutor
  var count = 0

  init(_ executor: some SerialExecutor) {
    self.executor = executor
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

  func note(_ text: String, _ stage: Stage) {
    stage.note(text)
  }
}

private nonisolated func same(_ number: Int) async -> Int { number }

/// Synchronous, as running a loop is.
private func runNested(_ stage: Stage) {
  stage.note("\(stage.loop.run(for: .milliseconds(5)))")
}
