#if Metrics
  public import CoreMetrics
  public import Rondo

  /// Reports the counts of loops to swift-metrics: turns, sleeps, wakeups, callouts, delays.
  ///
  /// Once an interval, a timer reads the counts of all the loops, and reports the increase. It also measures how long a
  /// block waits for its turn. Each metric has the dimension `loop`, with the loop's name.
  ///
  /// ```swift
  /// let metrics = LoopMetrics(of: ["main": loop], every: .seconds(10), on: loop)
  /// ```
  ///
  /// Keep the object: it stops reporting when you release it. Any thread.
  public final class LoopMetrics: Sendable {
    /// *constant*
    private let subjects: [Subject]
    /// *constant*
    private let timer: Loop.Timer

    /// Begins to report the counts of `loops` every `interval`, by a timer on `loop`.
    ///
    /// - Parameters:
    ///   - loops: The loops by name.
    ///   - interval: The timer's tolerance is a tenth of it.
    ///   - loop: Its thread reads the counts of all the loops, without waiting for them.
    ///   - factory: Makes the metrics; nil for `MetricsSystem.factory`.
    public init(
      of loops: [String: Loop], every interval: Duration = .seconds(10), on loop: Loop,
      factory: (any MetricsFactory)? = nil
    ) {
      let factory = factory ?? MetricsSystem.factory
      let subjects = loops.sorted { $0.key < $1.key }.map { Subject($0.key, $0.value, factory) }
      self.subjects = subjects
      timer = Loop.Timer(every: interval, tolerance: interval / 10) { _ in
        for subject in subjects { subject.report() }
      }
      loop.add(timer, to: .common)
    }

    deinit {
      timer.invalidate()
    }

    /// Reports the increase since the last report. Use it before the process exits. Any thread.
    public func report() {
      for subject in subjects { subject.report() }
    }
  }

  /// One loop, and its metrics. Any thread.
  private final class Subject: Sendable {
    /// *constant* A loop that has ended is reported as it was.
    private let loop: Loop
    /// *constant*
    private let counters: [(counter: Counter, value: @Sendable (Loop.Statistics) -> UInt64)]
    /// *constant*
    private let delay: CoreMetrics.Timer
    /// *constant*
    private let depth: Gauge
    /// *its lock*
    private let state: Guarded<State>

    private struct State {
      /// What was reported last, in the counters' order.
      var reported: [UInt64]
      /// Whether a block waits to tell how long it did.
      var isWaiting = false
    }

    init(_ name: String, _ loop: Loop, _ factory: any MetricsFactory) {
      self.loop = loop
      let dimensions = [("loop", name)]
      counters = Self.counted.map { label, more, value in
        (Counter(label: label, dimensions: dimensions + more, factory: factory), value)
      }
      delay = CoreMetrics.Timer(label: "rondo.loop.delay", dimensions: dimensions, factory: factory)
      depth = Gauge(label: "rondo.loop.depth", dimensions: dimensions, factory: factory)
      state = Guarded(State(reported: Array(repeating: 0, count: counters.count)))
    }

    private static let counted:
      [(label: String, more: [(String, String)], value: @Sendable (Loop.Statistics) -> UInt64)] = [
        ("rondo.loop.turns", [], { $0.turns }),
        ("rondo.loop.sleeps", [], { $0.sleeps }),
        ("rondo.loop.polls", [], { $0.polls }),
        ("rondo.loop.wakeups", [("by", "post")], { $0.wakeupsByPost }),
        ("rondo.loop.wakeups", [("by", "descriptor")], { $0.wakeupsByDescriptor }),
        ("rondo.loop.wakeups", [("by", "timer")], { $0.wakeupsByTimer }),
        ("rondo.loop.wakeups", [("by", "timeout")], { $0.wakeupsByTimeout }),
        ("rondo.loop.wakeups", [("by", "main-queue")], { $0.wakeupsByMainQueue }),
        ("rondo.loop.wakeups", [("by", "nothing")], { $0.spuriousWakeups }),
        ("rondo.loop.callouts", [("of", "observer")], { $0.observerCallouts }),
        ("rondo.loop.callouts", [("of", "timer")], { $0.timerCallouts }),
        ("rondo.loop.callouts", [("of", "source")], { $0.sourceCallouts }),
        ("rondo.loop.callouts", [("of", "descriptor")], { $0.descriptorCallouts }),
        ("rondo.loop.callouts", [("of", "block")], { $0.blockCallouts }),
        ("rondo.loop.callouts", [("of", "main-queue")], { $0.mainQueueCallouts }),
        ("rondo.loop.callouts", [("of", "job")], { $0.jobCallouts }),
        ("rondo.loop.missed-ticks", [], { $0.missedTicks }),
        ("rondo.loop.asleep-ns", [], { $0.timeAsleep.map(nanoseconds) ?? 0 }),
        ("rondo.loop.spinning-ns", [], { nanoseconds($0.timeSpinning) }),
      ]

    func report() {
      let statistics = loop.statistics
      let added = state.withLock { state in
        counters.indices.map { index in
          let value = counters[index].value(statistics)
          defer { state.reported[index] = value }
          return value &- state.reported[index]
        }
      }
      for (entry, added) in zip(counters, added) where added > 0 { entry.counter.increment(by: Int64(clamping: added)) }
      depth.record(loop.heartbeat.depth)
      measureDelay()
    }

    /// Has a block tell how long it has waited: what any other block would have.
    private func measureDelay() {
      let isFirst = state.withLock { state in
        defer { state.isWaiting = true }
        return !state.isWaiting
      }
      // A loop that is stuck is given one and no more.
      guard isFirst else { return }
      let start = SuspendingClock.now
      let isAccepted = loop.perform(in: .common) { [weak self] in
        guard let self else { return }
        state.withLock { $0.isWaiting = false }
        delay.recordNanoseconds(nanoseconds(start.duration(to: .now)))
      }
      if !isAccepted { state.withLock { $0.isWaiting = false } }
    }
  }

  private func nanoseconds(_ duration: Duration) -> UInt64 {
    UInt64(clamping: duration.saturatingNanoseconds)
  }
#endif
