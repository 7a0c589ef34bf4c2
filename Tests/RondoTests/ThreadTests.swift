import Glibc
import Rondo
import RondoTestSupport
import RondoTesting
import Testing

/// Loops on real threads: whose they are, what other threads may do, and what becomes of them.
@Suite struct ThreadTests {
  // MARK: - Whose

  @Test func `a thread has one loop, and another thread has another`() {
    let (first, isSame) = TestThread { (Loop.current, Loop.current === Loop.current) }.join()
    let second = TestThread { Loop.current }.join()
    #expect(isSame)
    #expect(first !== second)
  }

  @Test func `the main loop is the same from every thread`() {
    let loops = (0..<4).map { _ in TestThread { Loop.main } }.map { $0.join() }
    #expect(loops.allSatisfy { $0 === Loop.main })
  }

  @Test func `the main loop is not another thread's own`() {
    #expect(TestThread { Loop.current !== Loop.main }.join())
  }

  @Test(.offThePool) func `running a loop of another thread is a programmer's error that says whose it is`() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      Misuse.runAnotherThreadsLoop()
    }
    #expect(result?.complaint.contains("This loop belongs to another thread") == true)
  }

  @Test(.offThePool) func `firing a timer on the wrong thread is a programmer's error that says what to do`() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      Misuse.fireAnotherThreadsTimer()
    }
    #expect(result?.complaint.contains("Use loop.perform { timer.fire() }.") == true)
  }

  // MARK: - From another thread

  @Test func `a block posted by another thread runs on the loop's`() {
    let running = RunningLoop()
    let ran = Handover<pthread_t>()
    running.loop.perform { ran.put(pthread_self()) }
    #expect(ran.take() != pthread_self())
    running.stop()
  }

  @Test func `blocks of one thread run in the order they were posted`() {
    let running = RunningLoop()
    let order = Later<[Int]>([])
    for index in 0..<1000 { running.loop.perform { order.value.append(index) } }
    running.loop.perform { [loop = running.loop] in loop.stop() }
    #expect(running.join() == .stopped)
    #expect(order.value == Array(0..<1000))
  }

  @Test func `nothing posted is lost when the loop's thread adds what is a member already`() {
    let text = onLoopThread { stage -> String in
      let (loop, member) = (stage.loop, stage.keepAlive())
      loop.add(member, to: .common)
      loop.addCommonMode("m")
      for (name, change) in [
        ("a", { loop.add(member) }), ("b", { loop.add(member, to: .common) }), ("c", { loop.addCommonMode("m") }),
      ] as [(String, () -> Void)] {
        _ = TestThread { loop.perform { stage.note(name) } }.join()
        change()
      }
      loop.run(for: .zero)
      return stage.text
    }
    #expect(text == "a b c")
  }

  @Test func `a timer added by another thread wakes the loop`() {
    let running = RunningLoop()
    running.waitUntilAsleep()
    let lateness = Handover<Duration>()
    running.loop.add(Loop.Timer(after: .milliseconds(1)) { tick in lateness.put(tick.lateness) })
    #expect(lateness.take() >= .zero)
    running.stop()
  }

  @Test func `a timer brought forward by another thread fires`() {
    let fired = Handover<Bool>()
    let timer = Loop.Timer(after: .seconds(3600)) { _ in fired.put(true) }
    let running = RunningLoop { $0.add(timer) }
    running.waitUntilAsleep()
    timer.setFireDate(after: .zero)
    #expect(fired.take())
    running.stop()
  }

  @Test func `removing the last item from another thread finishes the run`() {
    let source = Loop.Source {}
    let running = RunningLoop(isKeptAlive: false) { $0.add(source) }
    running.waitUntilAsleep()
    running.loop.remove(source)
    #expect(running.join() == .finished)
  }

  @Test func `invalidating the last item from another thread finishes the run`() {
    let timer = Loop.Timer(after: .seconds(3600)) { _ in }
    let running = RunningLoop(isKeptAlive: false) { $0.add(timer) }
    running.waitUntilAsleep()
    timer.invalidate()
    #expect(running.join() == .finished)
  }

  @Test func `stop from another thread ends a sleeping run`() {
    let running = RunningLoop()
    running.waitUntilAsleep()
    running.loop.stop()
    #expect(running.join() == .stopped)
  }

  @Test func `requestStop may come before the run and is obeyed`() {
    let loop = Handover<Loop>()
    let isRequested = Handover<Bool>()
    let thread = TestThread {
      let own = Loop.current
      own.add(Loop.Source {})
      loop.put(own)
      _ = isRequested.take()
      return own.run()
    }
    loop.take().requestStop()
    isRequested.put(true)
    #expect(thread.join() == .stopped)
  }

  @Test func `a wakeup from another thread is one turn`() {
    let running = RunningLoop()
    running.waitUntilAsleep()
    let before = running.loop.statistics.turns
    running.loop.wakeUp()
    while running.loop.statistics.turns == before { yieldThread() }
    running.waitUntilAsleep()
    #expect(running.loop.statistics.turns == before + 1)
    #expect(running.loop.statistics.wakeupsByPost == 1)
    running.stop()
  }

  @Test func `another thread can tell a sleeping loop from one in a callout`() {
    let running = RunningLoop()
    running.waitUntilAsleep()
    #expect(running.loop.heartbeat.phase == .waiting)
    #expect(running.loop.heartbeat.depth == 1)
    #expect(running.loop.currentMode == .default)
    let (inside, release) = (Handover<Bool>(), Handover<Bool>())
    running.loop.perform {
      inside.put(true)
      _ = release.take()
    }
    _ = inside.take()
    #expect(!running.loop.isWaiting)
    #expect(running.loop.heartbeat.phase == .blocks)
    release.put(true)
    running.stop()
    #expect(running.loop.heartbeat.phase == .notRunning)
    #expect(running.loop.currentMode == nil)
  }

  @Test func `membership is seen by every thread at once`() {
    let running = RunningLoop()
    let timer = Loop.Timer(after: .seconds(3600)) { _ in }
    #expect(running.loop.add(timer, to: "m"))
    #expect(running.loop.contains(timer, in: "m"))
    #expect(running.loop.modes == [.default, "m"])
    running.loop.remove(timer, from: "m")
    #expect(!running.loop.contains(timer, in: "m"))
    running.stop()
  }

  @Test func `an item removed from another thread is free for another loop once its loop has looked`() {
    let running = RunningLoop()
    let timer = Loop.Timer(after: .seconds(3600)) { _ in }
    running.loop.add(timer)
    running.loop.remove(timer)
    let looked = Handover<Bool>()
    running.loop.perform { looked.put(true) }
    #expect(looked.take())
    let isMember = onLoopThread { stage in stage.loop.add(timer) }
    #expect(isMember)
    running.stop()
  }

  @Test func `what another thread removes is not called again, though the loop has not looked yet`() {
    let calls = Tally()
    let timer = Loop.Timer(every: .nanoseconds(1)) { _ in calls.add() }
    let running = RunningLoop { $0.add(timer) }
    while calls.count < 10 { yieldThread() }
    // Between two callouts of the loop's thread, so that none is under way.
    let seen = Handover<Int>()
    let (inside, isRemoved) = (Handover<Bool>(), Handover<Bool>())
    running.loop.perform {
      inside.put(true)
      _ = isRemoved.take()
      seen.put(calls.count)
    }
    _ = inside.take()
    running.loop.remove(timer)
    isRemoved.put(true)
    let count = seen.take()
    let drained = Handover<Bool>()
    running.loop.perform { drained.put(true) }
    _ = drained.take()
    #expect(calls.count == count)
    running.stop()
  }

  // MARK: - Time

  @Test func `a timer is never early`() {
    let (elapsed, lateness) = onLoopThread { stage in
      let lateness = Later(Duration.zero)
      let start = SuspendingClock().now
      stage.timer("t", after: .milliseconds(20)) { tick in lateness.value = tick.lateness }
      stage.loop.run()
      return (SuspendingClock().now - start, lateness.value!)
    }
    #expect(elapsed >= .milliseconds(20))
    #expect(lateness >= .zero)
  }

  @Test func `a run is never shorter than its time`() {
    let elapsed = onLoopThread { stage in
      stage.keepAlive()
      let start = SuspendingClock().now
      stage.loop.run(for: .milliseconds(20))
      return SuspendingClock().now - start
    }
    #expect(elapsed >= .milliseconds(20))
  }

  @Test func `a repeating timer keeps its grid on the real clock`() {
    let ticks = onLoopThread { stage in
      let ticks = Later<[(SuspendingClock.Instant, Int)]>([])
      stage.timer("t", every: .milliseconds(2)) { tick in
        ticks.value.append((tick.scheduled, tick.missed))
        if ticks.value.count == 20 { tick.timer.invalidate() }
      }
      stage.loop.run()
      return ticks.value!
    }
    for (index, tick) in ticks.enumerated().dropFirst() {
      let steps = 1 + tick.1
      #expect(tick.0 == ticks[index - 1].0.advanced(by: .milliseconds(2 * steps)))
    }
  }

  // MARK: - The end of a thread

  @Test func `items are invalid when the loop's thread has ended, sources only leave it`() {
    let told = Handover<Loop.Mode>()
    let source = Loop.Source(cancel: { _, mode in told.put(mode) }, perform: {})
    let (items, loop) = onLoopThread { stage in
      let items: [Loop.Item] = [
        stage.timer("t", after: .seconds(1)), stage.timer("c", every: .seconds(1), in: .common),
        stage.observer(.all) { _ in }, stage.descriptor("d", stage.pipe().reader),
      ]
      stage.loop.add(source, to: "m")
      return (items, stage.loop)
    }
    #expect(items.allSatisfy { !$0.isValid })
    #expect(source.isValid)
    #expect(told.take() == "m")
    #expect(!loop.contains(source, in: "m"))
  }

  @Test func `what is posted to a loop whose thread has ended is refused`() {
    let loop = onLoopThread { stage in stage.loop }
    #expect(!loop.perform {})
    #expect(!loop.perform(in: [.default, .common]) {})
    #expect(!loop.add(Loop.Timer(after: .zero) { _ in }))
    #expect(!loop.add(Loop.Source {}))
    loop.wakeUp()
    loop.stop()
    loop.requestStop()
    loop.addCommonMode("m")
    #expect(!loop.isWaiting)
    #expect(loop.currentMode == nil)
  }

  @Test func `signalling a source whose loop is gone does nothing, and it works in another`() {
    let source = Loop.Source {}
    onLoopThread { stage in _ = stage.loop.add(source) }
    source.signal()
    #expect(source.isSignalled)
    let result = onLoopThread { stage in
      stage.loop.add(source)
      return stage.loop.run(for: .seconds(60), returnAfterSourceHandled: true)
    }
    #expect(result == .handledSource)
  }

  @Test func `a loop is let go with its thread, whatever still stood in it`() {
    final class Owned: Sendable {}
    weak var loop: Loop?
    weak var owned: Owned?
    let source = Loop.Source {}
    do {
      let made = Owned()
      owned = made
      loop = onLoopThread { stage in
        stage.loop.add(source)
        stage.loop.add(Loop.Timer(every: .seconds(1)) { _ in _ = (made, stage) })
        stage.loop.perform(in: "never") { _ = (made, stage) }
        stage.loop.run(for: .zero)
        return stage.loop
      }
    }
    #expect(loop == nil)
    #expect(owned == nil)
    #expect(source.isValid)
  }

  @Test(.offThePool) func `a thousand threads that each ran a loop leave the process's descriptors as they were`() async
  {
    // In a process of its own, where no other test opens descriptors meanwhile.
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      Census.takeAroundThreads()
    }
    #expect(result?.complaint == "")
  }
}

/// Counts descriptors, in a synchronous function because loops belong to threads.
private enum Census {
  static func takeAroundThreads() {
    awakenDispatch()
    run(threads: 1)
    let before = openDescriptors()
    for _ in 0..<20 { run(threads: 50) }
    let after = openDescriptors()
    // Not a failure of the child: its last words would be lost with its result.
    if before != after {
      let words = Array("descriptors before: \(before), after: \(after)".utf8)
      _ = unsafe write(2, words, words.count)
    }
  }

  private static func run(threads count: Int) {
    let threads = (0..<count).map { _ in
      TestThread {
        let stage = Stage(.current)
        let pipe = stage.pipe()
        stage.descriptor("d", pipe.reader) { source, _ in source.invalidate() }
        stage.keepAlive(in: "m")
        stage.timer("t", after: .microseconds(1))
        pipe.write(1)
        stage.loop.run()
        stage.loop.run(in: "m", for: .microseconds(1))
      }
    }
    for thread in threads { thread.join() }
  }

  /// What each open descriptor stands for, without the files in /proc: once a second the runtime looks what its threads do.
  private static func openDescriptors() -> [String] {
    guard let directory = unsafe opendir("/proc/self/fd") else { fatalError("no /proc: errno \(errno)") }
    defer { unsafe closedir(directory) }
    var files: [String] = []
    while let entry = unsafe readdir(directory) {
      let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      var target = [UInt8](repeating: 0, count: 100)
      let length = unsafe target.withUnsafeMutableBytes { bytes in
        unsafe readlink("/proc/self/fd/" + name, bytes.baseAddress!.assumingMemoryBound(to: CChar.self), bytes.count)
      }
      let file = String(decoding: target.prefix(max(0, length)), as: UTF8.self)
      if !file.isEmpty, !file.hasPrefix("/proc/") { files.append(file) }
    }
    return files.sorted()
  }
}

/// What exit tests do, in synchronous functions because loops belong to threads.
private enum Misuse {
  static func runAnotherThreadsLoop() {
    RunningLoop().loop.run(for: .seconds(1))
  }

  static func fireAnotherThreadsTimer() {
    let timer = Loop.Timer(after: .seconds(3600)) { _ in }
    let running = RunningLoop { $0.add(timer) }
    timer.fire()
    running.stop()
  }
}
