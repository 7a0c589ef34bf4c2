import CTests
import Glibc
import Rondo
import RondoTesting

/// A repeating timer fires 100 times between the marks.
func probeTimer() {
  let loop = Loop.current
  let fires = Cell(0)
  loop.add(
    Loop.Timer(every: .milliseconds(1)) { _ in
      fires.value += 1
      if fires.value == 10 { mark("loop begins") }
      if fires.value == 110 {
        mark("loop ends")
        loop.stop()
      }
    })
  loop.run()
  report("fires", fires.value)
}

/// 100 descriptors are ready at once, and stay so.
func probeDescriptors() {
  let loop = Loop.current
  let calls = Cell(0)
  for _ in 0..<100 {
    // A source for a descriptor that was just made cannot fail.
    let source = try! Loop.DescriptorSource(readyDescriptor(), for: .read) { _, _ in calls.value += 1 }
    loop.add(source)
  }
  // libevent's buffer starts at 32 records and doubles after a wait that filled it.
  for _ in 0..<3 { loop.run(for: .zero) }
  calls.value = 0
  mark("loop begins")
  loop.run(for: .zero)
  mark("loop ends")
  report("calls", calls.value)
}

/// What changes of interest cost, one kind after the other.
func probeInterest() {
  var pair: [CInt] = [0, 0]
  _ = unsafe socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &pair)
  let loop = Loop.current
  let source = try! Loop.DescriptorSource(pair[0], for: .read) { _, _ in }
  loop.add(source)
  loop.run(for: .zero)

  // The thread's first change makes what is kept for it.
  source.enable(.read)
  source.enable(.write)
  source.disable(.write)

  mark("flip begins")
  source.disable(.read)
  source.enable(.read)
  source.enable(.write)
  source.disable(.write)
  loop.run(for: .zero)
  mark("flip ends")

  mark("disable begins")
  source.disable(.read)
  loop.run(for: .zero)
  mark("disable ends")

  mark("enable begins")
  source.enable(.read)
  loop.run(for: .zero)
  mark("enable ends")

  mark("widen begins")
  source.enable(.write)
  loop.run(for: .zero)
  mark("widen ends")

  mark("narrow begins")
  source.disable(.read)
  loop.run(for: .zero)
  mark("narrow ends")

  let second = try! Loop.DescriptorSource(pair[0], for: .write) { _, _ in }
  loop.add(second)
  loop.run(for: .zero)
  mark("shared begins")
  second.disable(.write)
  second.enable(.write)
  source.enable(.read)
  loop.run(for: .zero)
  mark("shared ends")

  mark("remove begins")
  loop.remove(second)
  loop.remove(source)
  mark("remove ends")

  mark("none begins")
  loop.run(for: .zero)
  mark("none ends")
}

/// 100 virtual turns with a timer each: no system call.
func probeVirtualTurns() {
  withVirtualLoop { virtual in
    let fires = Cell(0)
    virtual.loop.add(Loop.Timer(every: .milliseconds(1)) { _ in fires.value += 1 })
    virtual.advance(by: .milliseconds(10))
    fires.value = 0
    mark("loop begins")
    virtual.advance(by: .milliseconds(100))
    mark("loop ends")
    report("fires", fires.value)
  }
}

/// Goes round `count` times without anything to do, in one run.
private func makeQuietTurns(
  _ loop: Loop, _ count: Int, before: @escaping @Sendable () -> Void, after: @escaping @Sendable () -> Void
) {
  let turns = Cell(0)
  // Its own wakeup keeps the loop from sleeping, at no cost.
  let observer = Loop.Observer(.beforeTimers) { _ in
    turns.value += 1
    if turns.value == 10 { before() }
    if turns.value == 10 + count {
      after()
      loop.stop()
    }
    loop.wakeUp()
  }
  loop.add(observer)
  loop.run()
  observer.invalidate()
}

/// Allocations of 1,000 quiet turns, and of 100 turns that serve something.
func probeAllocations() {
  let loop = Loop.current
  let source = Loop.Source {}
  loop.add(source)
  let start = Cell<Int64>(0)
  let end = Cell<Int64>(0)
  makeQuietTurns(loop, 1_000) {
    start.value = allocation_count()
  } after: {
    end.value = allocation_count()
  }
  report("quiet", end.value - start.value)

  source.signal()
  loop.run(for: .zero)
  start.value = allocation_count()
  for _ in 0..<100 { loop.run(for: .zero) }
  report("runs", allocation_count() - start.value)

  start.value = allocation_count()
  for _ in 0..<100 {
    source.signal()
    loop.run(for: .zero)
  }
  report("sources", allocation_count() - start.value)

  let fires = Cell(0)
  loop.add(
    Loop.Timer(every: .milliseconds(1)) { _ in
      fires.value += 1
      if fires.value == 10 { start.value = allocation_count() }
      if fires.value == 110 {
        end.value = allocation_count()
        loop.stop()
      }
    })
  loop.run()
  report("timers", end.value - start.value)
}

/// 1,000 quiet turns while another thread holds the loop's only lock.
func probeLock() {
  let loop = Loop.current
  loop.add(Loop.Source {})
  let isHeld = Flag()
  let isOver = Flag()
  let mayTake = Flag()
  let holder = startThread {
    mayTake.wait()
    loop.whileHoldingLock {
      isHeld.raise()
      isOver.wait()
    }
  }
  let turns = Cell<UInt64>(0)
  makeQuietTurns(loop, 1_000) {
    mayTake.raise()
    isHeld.wait()
    turns.value = loop.statistics.turns
  } after: {
    turns.value = loop.statistics.turns - turns.value
    isOver.raise()
  }
  join(holder)
  report("turns", turns.value)
}

/// 1,000 threads run a loop each and end; how many descriptors stay open.
func probeThreadDescriptors() {
  let runs = Tally()
  func runLoops(_ count: Int) {
    for _ in 0..<count {
      join(
        startThread {
          Loop.current.add(Loop.Timer(after: .zero) { _ in runs.add() })
          Loop.current.run()
          // Still there when the thread ends.
          Loop.current.add(Loop.Timer(after: .seconds(3_600)) { _ in })
        })
    }
  }
  runLoops(1)
  let before = openDescriptors()
  runLoops(999)
  report("runs", runs.value)
  report("left", openDescriptors() - before)
}

func openDescriptors() -> Int {
  (0..<1_024).count { fcntl($0, F_GETFD) != -1 }
}
