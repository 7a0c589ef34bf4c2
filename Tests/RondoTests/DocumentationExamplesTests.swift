import Foundation
import Glibc
import Rondo
import RondoTesting
import Synchronization
import Testing

// The examples of README.md, but for its daemon, and of Rondo.docc, compiled and run. `ExampleTextTests` sees to
// it that they stand in the documentation as they stand here.

/// What the examples have done.
private final class Log: Sendable {
  private let notes = Mutex<[String]>([])

  func note(_ text: String) { notes.withLock { $0.append(text) } }

  var text: String { notes.withLock { $0.joined(separator: ", ") } }
}

/// What owns a timeout in the examples.
private final class Connection: @unchecked Sendable {
  private let log: Log
  /// The loop's thread.
  var idle: Loop.Timeout!

  init(_ log: Log) { self.log = log }

  func expire() { log.note("expired") }
}

@Suite struct DocumentationExamplesTests {
  // MARK: - README

  @Test func `README: a first loop`() {
    let log = Log()
    @Sendable func print(_ text: String) { log.note(text) }
    withVirtualLoop { virtual in
      let loop = Loop.current
      let minute = Loop.Timer(every: .seconds(60), tolerance: .seconds(6)) { tick in
        print("a minute, \(tick.missed) missed")
      }
      loop.add(minute)
      loop.perform { print("soon") }
      loop.run(for: .seconds(150))
      minute.invalidate()
      #expect(virtual.elapsed == .seconds(150))
    }
    #expect(log.text == "soon, a minute, 0 missed, a minute, 0 missed")
  }

  // MARK: - Rondo

  @Test func `Rondo: a first loop`() {
    let log = Log()
    withVirtualLoop { _ in
      let loop = Loop.current
      loop.add(Loop.Timer(every: .seconds(1), tolerance: .milliseconds(100)) { tick in log.note("\(tick.missed)") })
      loop.add(Loop.Observer(.beforeWaiting, order: 100) { _ in log.note("idle") }, to: .common)
      loop.perform { log.note("block") }
      let result = loop.run(for: .milliseconds(2500))

      #expect(result == .timedOut)
      #expect(log.text == "block, idle, 0, idle, 0, idle")
    }
  }

  @Test func `Rondo: a run in another mode suspends`() {
    let log = Log()
    withVirtualLoop { virtual in
      let loop = virtual.loop

      loop.add(Loop.Timer(after: .milliseconds(10)) { _ in log.note("ordinary") })
      loop.add(Loop.Timer(after: .milliseconds(20)) { _ in log.note("urgent") }, to: "urgent")
      loop.run(in: "urgent")
      loop.run()

      #expect(log.text == "urgent, ordinary")
      #expect(virtual.elapsed == .milliseconds(20))
    }
  }

  @Test func `Rondo: a descriptor source`() throws {
    let log = Log()
    var ends: [CInt] = [0, 0]
    try #require(unsafe pipe(&ends) == 0)
    let (descriptor, writer) = (ends[0], ends[1])
    #expect(unsafe write(writer, [1], 1) == 1)
    let result = onLoopThread { stage in
      Result {
        let loop = stage.loop

        let input = try Loop.DescriptorSource(descriptor, for: .read) { source, readiness in
          log.note("\(readiness)")
          source.invalidate()
        }
        loop.add(input)
        loop.run()
      }
    }
    try result.get()
    #expect(log.text == "read")
    close(descriptor)
    close(writer)
  }

  @Test func `Rondo: an hour in virtual time`() {
    let log = Log()

    withVirtualLoop { virtual in
      let trace = Trace()
      trace.observe(virtual.loop)
      virtual.loop.add(Loop.Timer(after: .seconds(3600)) { _ in log.note("an hour") })
      #expect(virtual.loop.run() == .finished)
      #expect(virtual.elapsed == .seconds(3600))
      #expect(trace.text == "E BT BS BW AW X")
    }

    #expect(log.text == "an hour")
  }

  // MARK: - TheTurn

  @Test func `TheTurn: an observer shows the turn`() {
    let log = Log()
    withVirtualLoop { virtual in
      let loop = virtual.loop

      let trace = Trace()
      trace.observe(loop)
      loop.add(Loop.Source {})
      loop.add(Loop.Timer(after: .milliseconds(10)) { _ in log.note("fired") })
      #expect(loop.run(for: .milliseconds(30)) == .timedOut)
      #expect(trace.text == "E BT BS BW AW BT BS BW AW X")
    }
    #expect(log.text == "fired")
  }

  @Test func `TheTurn: a nested run`() {
    let log = Log()
    withVirtualLoop { virtual in
      let loop = virtual.loop

      loop.add(Loop.Source {}, to: "modal")
      loop.add(
        Loop.Timer(after: .milliseconds(10)) { _ in
          log.note("outer in \(loop.currentMode!)")
          let result = loop.run(in: "modal", for: .milliseconds(50))
          log.note("nested run \(result), back in \(loop.currentMode!)")
        })
      loop.run()

      let mode = Loop.Mode.default
      #expect(log.text == "outer in \(mode), nested run timedOut, back in \(mode)")
      #expect(virtual.elapsed == .milliseconds(60))
    }
  }

  // MARK: - Threading

  @Test func `Threading: a worker thread`() throws {
    let log = Log()

    let worker = try LoopThread(name: "worker")
    worker.loop.add(Loop.Timer(every: .seconds(60)) { _ in log.note("a minute") })
    worker.execute { log.note("on the worker") }
    let answer = try worker.sync { 6 * 7 }
    worker.stop()

    #expect(answer == 42)
    #expect(log.text == "on the worker")
  }

  /// Compiled, not run: the tests do not own the main thread.
  private func mainThreadExample(_ log: Log) {
    func runService() {
      Task { @MainActor in log.note("on the main thread") }
      Loop.main.run()
    }
    runService()
  }

  @Test func `Threading: the heartbeat of a sleeping loop does not look stuck`() {
    let running = RunningLoop()
    let loop = running.loop
    running.waitUntilAsleep()
    func pauseBriefly() { sched_yield() }

    let before = loop.heartbeat
    pauseBriefly()
    let after = loop.heartbeat
    let isStuck = after.beats == before.beats && after.phase != .waiting && after.phase != .notRunning

    #expect(!isStuck)
    running.stop()
  }

  // MARK: - Concurrency

  /// Compiled, not run: the tests do not own the main thread.
  private func runMainExample(_ log: Log) {
    func main() {
      Loop.runMain {
        for await tick in Loop.main.ticks(every: .seconds(1)) {
          print("on the main thread, \(tick.missed) missed")
          if tick.missed > 10 { break }
        }
      }
    }
    _ = main
  }

  @Test func `Concurrency: an actor and a timer of its loop`() async throws {
    let running = RunningLoop()
    let loop = running.loop

    let registry = Registry(on: loop)
    loop.add(
      Loop.Timer(after: .milliseconds(10)) { _ in
        registry.assumeIsolated { registry in registry.add("from a timer") }
      })

    while await registry.count == 0 { try await loop.clock.sleep(for: .milliseconds(1)) }
    #expect(await registry.count == 1)
    running.stop()
  }

  @Test func `Concurrency: a global actor`() async {
    await flush()
    #expect(log.text == "on the storage thread")
  }

  @Test func `Concurrency: tasks`() {
    let log = Log()
    withVirtualLoop { virtual in
      let loop = virtual.loop

      Task(executorPreference: loop) {
        log.note("a task on the loop")
        await withTaskGroup { group in
          for number in 1...2 { group.addTask { log.note("child \(number)") } }
        }
      }

      loop.run()
    }
    #expect(log.text == "a task on the loop, child 1, child 2")
  }

  @Test func `Concurrency: sleeping`() {
    let log = Log()

    withVirtualLoop { virtual in
      let clock = virtual.loop.clock
      Task(executorPreference: virtual.loop) {
        try await clock.sleep(for: .seconds(36_000))
        log.note("ten hours")
      }
      virtual.loop.run()
      #expect(virtual.elapsed == .seconds(36_000))
    }

    #expect(log.text == "ten hours")
  }

  @Test func `Concurrency: a thread for a scope`() async throws {
    let answer = try await withLoopThread(name: "worker") { thread in
      try await thread.loop.call { 6 * 7 }
    }
    #expect(answer == 42)
  }

  // MARK: - StateThatHandlersShare

  @Test func `StateThatHandlersShare: an actor of the loop`() async {
    let running = RunningLoop()
    let meter = Meter(on: running.loop)
    await meter.start()
    while await meter.ticks < 3 { try? await Task.sleep(for: .milliseconds(1)) }
    running.stop()
  }

  @Test func `StateThatHandlersShare: a handler that assumes`() async {
    let running = RunningLoop()
    let loop = running.loop

    let registry = Registry(on: loop)
    let source = Loop.Source { registry.assumeIsolated { registry in registry.add("signalled") } }
    loop.add(source)
    source.signal()

    while await registry.count == 0 { try? await Task.sleep(for: .milliseconds(1)) }
    running.stop()
  }

  @Test func `StateThatHandlersShare: a class that is safe by itself`() {
    let totals = Totals()
    withVirtualLoop { virtual in
      virtual.loop.add(Loop.Timer(after: .seconds(1)) { _ in totals.count("fired") })
      virtual.loop.run()
    }
    #expect(totals.total("fired") == 1)
  }

  // MARK: - Timers

  @Test func `Timers: missed ticks`() {
    let log = Log()
    withStage(isObserved: false) { stage in
      let loop = stage.loop
      let work: @Sendable () -> Void = { if stage.milliseconds == 50 { stage.virtual.spend(.milliseconds(120)) } }

      let timer = Loop.Timer(every: .milliseconds(50)) { tick in
        log.note("\(tick.missed) missed, late by \(tick.lateness)")
        work()
      }
      loop.add(timer)
      loop.run(for: .milliseconds(260))

      let onTime = "late by \(Duration.zero)"
      #expect(log.text == "0 missed, \(onTime), 2 missed, \(onTime), 0 missed, \(onTime)")
      #expect(stage.milliseconds == 260)
    }
  }

  @Test func `Timers: tolerance`() {
    let log = Log()
    withVirtualLoop { virtual in
      let loop = virtual.loop

      loop.add(Loop.Timer(after: .milliseconds(100), tolerance: .milliseconds(50)) { _ in log.note("patient") })
      loop.add(Loop.Timer(after: .milliseconds(140)) { _ in log.note("exact") })
      loop.run()

      #expect(log.text == "patient, exact")
      #expect(virtual.elapsed == .milliseconds(140))
      #expect(virtual.sleeps == 1)
    }
  }

  @Test func `Timers: precision`() {
    let log = Log()
    withVirtualLoop { virtual in
      let loop = virtual.loop

      loop.precisionBudget = .milliseconds(50)
      let timer = Loop.Timer(every: .milliseconds(10)) { tick in
        log.note("late by \(tick.lateness)")
      }
      timer.isPrecise = true
      loop.add(timer)
      loop.run(for: .milliseconds(20))

      #expect(log.text == "late by \(Duration.zero), late by \(Duration.zero)")
    }
  }

  @Test func `Concurrency: hops`() {
    withVirtualLoop { virtual in
      let loop = virtual.loop

      loop.hopBudget = .milliseconds(100)
      loop.add(Loop.Timer(after: .seconds(1)) { _ in })
      loop.run()

      // In virtual time nothing is waited for.
      #expect(loop.statistics.spins == 0 && loop.hopBudget == .milliseconds(100))
    }
  }

  @Test func `Timers: putting off`() {
    let log = Log()
    withVirtualLoop { virtual in
      let loop = virtual.loop

      let timeout = Loop.Timer(after: .seconds(30)) { _ in log.note("timeout") }
      loop.add(timeout)
      for _ in 1...3 {
        loop.run(for: .seconds(20))
        timeout.setFireDate(after: .seconds(30))
      }
      loop.run()

      #expect(log.text == "timeout")
      #expect(virtual.elapsed == .seconds(90))
    }
  }

  @Test func `Timers: a one-shot set again`() {
    let log = Log()
    withVirtualLoop { virtual in
      let loop = virtual.loop
      let tries = Later(0)
      let connects = {
        tries.value += 1
        return tries.value == 3
      }

      let retry = Loop.Timer(after: .milliseconds(10)) { tick in
        log.note("try")
        if !connects() { tick.timer.setFireDate(after: .milliseconds(20)) }
      }
      loop.add(retry)
      loop.run()

      #expect(log.text == "try, try, try")
      #expect(virtual.elapsed == .milliseconds(50))
    }
  }

  @Test func `Timers: what a handler captures`() {
    let log = Log()
    let connection = Connection(log)
    withVirtualLoop { virtual in
      let loop = virtual.loop

      let timeout = Loop.Timer(after: .seconds(30)) { [connection] _ in connection.expire() }
      loop.add(timeout)
      loop.run()
    }
    #expect(log.text == "expired")
  }

  @Test func `Timers: timeouts`() {
    let log = Log()
    let connection = Connection(log)
    withVirtualLoop { virtual in
      let loop = virtual.loop

      connection.idle = loop.makeTimeout(after: .seconds(30)) { [connection] in connection.expire() }
      loop.run(for: .seconds(20))
      loop.arm(connection.idle, after: .seconds(30))  // It has sent something.
      loop.run(for: .seconds(60))
      loop.discard(connection.idle)  // It has gone.

      #expect(virtual.elapsed == .seconds(50))
    }
    #expect(log.text == "expired")
  }
}

// MARK: - Concurrency

actor Registry {
  private let loop: Loop
  private var names: [String] = []

  init(on loop: Loop) { self.loop = loop }

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

  func add(_ name: String) { names.append(name) }
  var count: Int { names.count }
}

private let log = Log()

@globalActor
enum StorageActor {
  static let shared = LoopActor(try! LoopThread(name: "storage"))
}

@StorageActor
func flush() { log.note("on the storage thread") }

// MARK: - StateThatHandlersShare

actor Meter {
  private let loop: Loop
  private var counts: [String: Int] = [:]

  init(on loop: Loop) { self.loop = loop }

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

  func start() {
    loop.add(Loop.Timer.isolated(to: self, every: .milliseconds(10)) { meter, tick in meter.count(tick) })
  }

  private func count(_ tick: Loop.Timer.Tick) { counts["ticks", default: 0] += 1 + tick.missed }
  var ticks: Int { counts["ticks", default: 0] }
}

@MainActor final class Service {
  private var counts: [String: Int] = [:]

  func start() {
    Loop.main.add(Loop.Timer.isolated(to: MainActor.shared, every: .seconds(1)) { tick in self.count(tick) })
  }

  private func count(_ tick: Loop.Timer.Tick) { counts["ticks", default: 0] += 1 + tick.missed }
}

final class Totals: Sendable {
  private let counts = Mutex<[String: Int]>([:])

  func count(_ name: String) { counts.withLock { $0[name, default: 0] += 1 } }
  func total(_ name: String) -> Int { counts.withLock { $0[name, default: 0] } }
}
