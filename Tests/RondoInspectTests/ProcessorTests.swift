import Glibc
import Rondo
import RondoTestSupport
import Synchronization
import Testing

@testable import RondoInspect

@Suite(.offThePool) struct ProcessorTests {
  // However busy the machine is, a thread that computes takes more than a thousandth.
  private static let share = 0.001
  private static let time = Duration.milliseconds(200)

  @Test func `a loop that computes all the time is told with what it computes`() async throws {
    let thread = try LoopThread(name: "busy one")
    let (reports, continuation) = AsyncStream<ProcessorUse>.makeStream()
    let busy = Spinner()
    let monitor = try ProcessorMonitor(above: Self.share, for: Self.time) { continuation.yield($0) }
    monitor.watch(thread.loop)
    let source = Loop.Source { busy.spin() }
    source.name = "the busy source"
    thread.loop.add(source)
    source.signal()
    for await report in reports where report.samples.first?.callout == "source the busy source" {
      #expect(report.share > Self.share && report.loop == "busy one" && report.threadName == "busy one")
      break
    }
    busy.end()
    await thread.end()
  }

  // MARK: - Every thread

  @Test func `a thread without a loop is reported with its name and its stack`() async throws {
    let busy = Spinner()
    busy.begin("lonely spinner", blocking: false)
    let report = try await reports(of: busy) { !$0.trace.isEmpty }
    #expect(report.threadName == "lonely spinner" && report.loop == "" && report.samples.isEmpty)
    #expect(report.share > Self.share && report.time >= Self.time)
    let functions = report.stack.compactMap(\.function)
    #expect(functions.contains { $0.contains("spin") || $0.contains("stuck_compute") }, "\(functions)")
    #expect(report.description.hasPrefix("rondo: thread \(busy.thread) (lonely spinner) took "))
    busy.end()
  }

  @Test func `a thread that blocks every signal is reported without a stack`() async throws {
    let busy = Spinner()
    busy.begin("deaf spinner", blocking: true)
    for _ in 0..<3 {
      let report = try await reports(of: busy) { _ in true }
      #expect(report.threadName == "deaf spinner" && report.trace.isEmpty)
    }
    // Nor is the signal left to it.
    let status = SystemFiles.text("/proc/self/task/\(busy.thread)/status", limit: 4_096)
    #expect(status?.contains("SigPnd:\t0000000000000000") == true)
    busy.end()
  }

  @Test func `a loop that is watched is reported once, as a loop`() async throws {
    let thread = try LoopThread(name: "both")
    let busy = Spinner()
    let (reports, continuation) = AsyncStream<ProcessorUse>.makeStream()
    let monitor = try ProcessorMonitor(above: Self.share, for: Self.time, scope: .allThreads) {
      continuation.yield($0)
    }
    monitor.watch(thread.loop)
    // It is watched before it is busy.
    await withCheckedContinuation { done in Watcher.present?.perform { done.resume() } }
    let source = Loop.Source { busy.spin() }
    source.name = "the other busy source"
    thread.loop.add(source)
    source.signal()
    await until { busy.thread != 0 }
    var count = 0
    for await report in reports where report.thread == busy.thread {
      #expect(report.loop == "both")
      count += 1
      if count == 3 { break }
    }
    busy.end()
    await thread.end()
  }

  @Test func `the monitor of every thread spares the watcher, and has the threads that there are`() async throws {
    let numbers = Mutex<[Int32]>([])
    _ = try Watcher.shared()
    await withCheckedContinuation { done in
      Watcher.present?.perform {
        numbers.withLock { $0 = ThreadState.all() + [ThreadState.ownNumber] }
        done.resume()
      }
    }
    let found = numbers.withLock { $0 }
    #expect(found.contains(getpid()) && found.dropLast().contains(found.last!))
    #expect(Set(found).count == found.count - 1)
  }

  // MARK: - Attacks

  @Test func `threads come and go by the hundred, and the busy one is still found`() async throws {
    let busy = Spinner()
    busy.begin("steady spinner", blocking: false)
    let mayEnd = Flag()
    let churn = Thread.begin("churn") {
      while !mayEnd.isRaised {
        let threads = (0..<50).map { _ in Thread.begin("short") {} }
        for thread in threads { thread.join() }
      }
    }
    let monitors = try (0..<2).map { _ in
      try ProcessorMonitor(above: 0.000_001, for: .milliseconds(100), scope: .allThreads) { _ in }
    }
    for _ in 0..<3 { _ = try await reports(of: busy) { !$0.trace.isEmpty } }
    mayEnd.raise()
    churn.join()
    busy.end()
    withExtendedLifetime(monitors) {}
  }

  @Test func `two monitors report the same thread`() async throws {
    let busy = Spinner()
    busy.begin("twice", blocking: true)
    async let first = reports(of: busy) { _ in true }
    async let second = reports(of: busy) { _ in true }
    let names = try await [first.threadName, second.threadName]
    #expect(names == ["twice", "twice"])
    busy.end()
  }

  @Test func `a report may end its monitor, and run the watcher's loop`() async throws {
    let busy = Spinner()
    busy.begin("ender", blocking: true)
    let kept = Mutex<ProcessorMonitor?>(nil)
    let (ends, continuation) = AsyncStream<Void>.makeStream()
    let monitor = try ProcessorMonitor(above: Self.share, for: .milliseconds(100), scope: .allThreads) { _ in
      kept.withLock { $0 = nil }
      runCurrentLoop()
      continuation.yield()
    }
    kept.withLock { $0 = monitor }
    for await _ in ends { break }
    busy.end()
  }

  @Test func `a forked child may drop its parent's monitor, and has one of its own`() throws {
    let busy = Spinner()
    busy.begin("parent's", blocking: true)
    let isFoundHere = Flag()
    var monitor = try ProcessorMonitor(above: Self.share, for: .milliseconds(100), scope: .allThreads) { _ in
      isFoundHere.raise()
    }
    // The runtime makes its tables under locks, which a fork at that moment would leave to the child as they are.
    while !isFoundHere.isRaised { usleep(1_000) }
    let child = forkProcess()
    if child == 0 {
      alarm(60)
      let isFound = Flag()
      guard
        let own = try? ProcessorMonitor(
          above: Self.share, for: .milliseconds(100), scope: .allThreads,
          report: { _ in
            isFound.raise()
          })
      else { _exit(1) }
      monitor = own
      while !isFound.isRaised {}
      _exit(0)
    }
    #expect(end(of: child) == .exit(0))
    busy.end()
    withExtendedLifetime(monitor) {}
  }

  /// The first report of a spinner's thread that fulfils a condition.
  private func reports(
    of busy: Spinner, where condition: @Sendable (ProcessorUse) -> Bool
  ) async throws -> ProcessorUse {
    let (reports, continuation) = AsyncStream<ProcessorUse>.makeStream()
    let monitor = try ProcessorMonitor(above: Self.share, for: Self.time, scope: .allThreads) {
      continuation.yield($0)
    }
    defer { withExtendedLifetime(monitor) {} }
    for await report in reports where report.thread == busy.thread && condition(report) { return report }
    throw CancellationError()
  }
}

@available(*, noasync)
private func runNested() { Loop.current.run(for: .milliseconds(50)) }

private func runCurrentLoop() { runNested() }
