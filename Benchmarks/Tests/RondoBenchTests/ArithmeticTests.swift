import CBench
import Testing

@testable import rondo_bench

@Suite struct ArithmeticTests {
  @Test func `The median of an even number of values lies between the middle ones`() {
    #expect(Statistics.median([4, 1, 3, 2]) == 2.5)
    #expect(Statistics.median([9, 1, 5]) == 5)
    #expect(Statistics.median([]) == 0)
  }

  @Test func `A tally's headline is the median of its rounds, its percentiles are over all times`() {
    var tally = Tally()
    for times in [[1, 2, 3], [10, 20, 30], [4, 5, 6]] as [[Int64]] { tally.add(Part(times: times)) }
    #expect(tally.headline == 5)
    #expect(tally.rounds == 3)
    #expect(tally.samples == 9)
    #expect(tally.percentile(100) == 30)
  }

  @Test(arguments: [999, 1000] as [Int64]) func `A p99.9 is told from a thousand times on`(count: Int64) {
    var tally = Tally()
    tally.add(Part(times: Array(1...count)))
    #expect(tally.tail.map(\.metric) == (count < 1000 ? ["p90", "p99", "max"] : ["p90", "p99", "p99.9", "max"]))
    #expect(tally.tail.map(\.value) == (count < 1000 ? [900, 990, 999] : [900, 990, 999, 1000]))
  }

  @Test func `A subject with single figures has no tail`() {
    var tally = Tally()
    tally.add(Part(value: 3))
    #expect(tally.tail.isEmpty)
  }

  /// A grid of hours that began one and a half of them ago.
  private func withHourlyTicks(_ body: (UnsafeMutablePointer<bench_ticks>) -> Void) {
    let hour: Int64 = 3_600_000_000_000
    let meter = TickMeter(every: hour, count: 9)
    meter.pointer.pointee.first = bench_now() - hour - hour / 2
    body(meter.pointer)
  }

  @Test func `A callout that comes after the next tick misses that one`() {
    withHourlyTicks { ticks in
      _ = bench_ticks_hit(ticks)
      #expect(ticks.pointee.missed == 1)
      #expect(ticks.pointee.early == 0)
    }
  }

  @Test func `A loop that calls out for such a tick after all has not missed it, and is not early`() {
    withHourlyTicks { ticks in
      for _ in 0..<2 { _ = bench_ticks_hit(ticks) }
      #expect(ticks.pointee.missed == 0)
      #expect(ticks.pointee.early == 0)
    }
  }

  @Test func `A callout computes as long as it is told to, and says for how long`() {
    let meter = TickMeter(every: 1_000_000, work: 100_000, count: 2)
    let before = bench_clock_time(bench_thread_clock())
    for _ in 0..<2 { _ = bench_ticks_hit(meter.pointer) }
    let used = bench_clock_time(bench_thread_clock()) - before
    #expect((200_000...used).contains(meter.worked))
  }

  @Test func `A busy thread's processor time is its own`() {
    let thread = BusyThread(on: Processors().loop)
    let before = thread.cpuTime
    while thread.cpuTime < before + 1_000_000 { bench_pause(1_000_000) }
    #expect(bench_cpu_time() >= thread.cpuTime)
    thread.stop()
  }

  @Test func `More callouts than ticks are early`() {
    withHourlyTicks { ticks in
      for _ in 0..<3 { _ = bench_ticks_hit(ticks) }
      #expect(ticks.pointee.early == 1)
    }
  }

  @Test func `Gauges combine as they say`() {
    var tally = Tally()
    for value in [1.0, -7, 3] {
      tally.add(
        Part(
          value: value,
          gauges: [
            Gauge(metric: "sum", unit: "", value: value, combination: .sum),
            Gauge(metric: "worst", unit: "", value: value, combination: .worst),
            Gauge(metric: "median", unit: "", value: value),
          ]))
    }
    #expect(tally.figures.map(\.gauge.metric) == ["sum", "worst", "median"])
    #expect(tally.figures.map(\.gauge.value) == [-3, -7, 1])
  }

  @Test func `Without tolerance every separate due needs a wake, and equal ones share it`() {
    #expect(CoalescingOptimum.wakes(for: [10, 20, 20, 30], tolerance: 0) == 3)
  }

  @Test func `A wake serves what is due up to one tolerance after the first due`() {
    #expect(CoalescingOptimum.wakes(for: [0, 5, 10], tolerance: 10) == 1)
    #expect(CoalescingOptimum.wakes(for: [0, 5, 11], tolerance: 10) == 2)
  }

  /// The best of all ways to choose wakes from the deadlines, by trying them all.
  private func smallest(_ dues: [Int64], _ tolerance: Int64) -> Int {
    (0..<(1 << dues.count)).filter { chosen in
      dues.allSatisfy { due in
        dues.indices.contains { index in
          chosen & (1 << index) != 0 && due...(due + tolerance) ~= dues[index] + tolerance
        }
      }
    }.map(\.nonzeroBitCount).min() ?? 0
  }

  @Test(arguments: 0..<40) func `No choice of wakes is smaller than the optimum`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let dues = (0..<8).map { _ in Int64.random(in: 0..<100, using: &random) }
    let tolerance = Int64.random(in: 0..<40, using: &random)
    #expect(CoalescingOptimum.wakes(for: dues, tolerance: tolerance) == smallest(dues, tolerance))
  }

  @Test func `A hundred timers of a second with a tenth of tolerance need nine wakes a second`() {
    let second: Int64 = 1_000_000_000
    let dues = (0..<100).map { Int64($0) * second / 100 }
    let wakes = CoalescingOptimum.wakesPerSecond(dues: dues, interval: second, tolerance: second / 10)
    // A wake every eleven dues: those within 100 ms of the first, itself and both ends included.
    #expect((9.09...9.11).contains(wakes))
  }

  @Test func `strace's table is read with and without errors, and without its total`() {
    let table = StraceTable(
      """
      % time     seconds  usecs/call     calls    errors syscall
      ------ ----------- ----------- --------- --------- ----------------
       60.00    0.000600           6       100           epoll_wait
       30.00    0.000300           3       100         7 read
       10.00    0.000100           1        50           clock_nanosleep
      ------ ----------- ----------- --------- --------- ----------------
      100.00    0.001000           4       250         7 total
      """)
    #expect(table.total(except: ["clock_nanosleep"]) == 200)
  }

  @Test func `Random numbers are the same in every run`() {
    var random = SplitMix64(seed: 0)
    #expect(random.next() == 0xE220_A839_7B1D_CDAF)
  }
}
