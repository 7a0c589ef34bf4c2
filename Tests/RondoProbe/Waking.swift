import Rondo

/// Wakes that are not measured come first, so that every buffer has its size.
private let warmUp = 20
private let measured = 200

/// A sleeping loop is woken 200 times; each thread marks its own share.
func probeWake() {
  let wakes = Tally()
  let running = RunningLoop { loop in
    // Each wakeup is to end a sleep, not a spin.
    loop.busyPollBudget = .zero
    loop.add(Loop.Source {})
    loop.add(
      Loop.Observer(.afterWaiting) { _ in
        let number = wakes.add()
        if number == warmUp { mark("loop begins") }
        if number == warmUp + measured { mark("loop ends") }
      })
  }
  for wake in 1...(warmUp + measured) {
    // It counts the sleep once it has announced it.
    spin { running.loop.statistics.sleeps == UInt64(wake) }
    if wake == warmUp + 1 { mark("sender begins") }
    running.loop.wakeUp()
  }
  mark("sender ends")
  spin { running.loop.statistics.sleeps == UInt64(warmUp + measured + 1) }
  let statistics = running.loop.statistics
  report("wakeups", statistics.wakeupsByPost)
  report("spurious", statistics.spuriousWakeups)
  running.stop()
}

/// A loop that is busy in a callout is woken, posted to and signalled 1,000 times each.
func probeWakeAwake() {
  let isBusy = Flag()
  let mayGoOn = Flag()
  let blocks = Tally()
  let performs = Tally()
  let source = Loop.Source { performs.add() }
  let running = RunningLoop { loop in
    loop.add(source)
    loop.perform {
      isBusy.raise()
      mayGoOn.wait()
    }
  }
  isBusy.wait()
  func post(_ count: Int) {
    for _ in 0..<count {
      running.loop.wakeUp()
      running.loop.perform { blocks.add() }
      source.signal()
    }
  }
  // A thread's first posts make what is kept for it.
  post(100)
  mark("sender begins")
  post(1_000)
  mark("sender ends")
  mayGoOn.raise()
  let isDone = Flag()
  running.loop.perform { isDone.raise() }
  isDone.wait()
  report("blocks", blocks.value)
  report("performs", performs.value)
  running.stop()
}
