import Rondo
import RondoFoundation

/// How often Foundation's loop is entered while it has nothing, and what it is given meanwhile.
func stayQuiet() {
  touchFoundation()
  let loop = RunLoop.current.getLoop()
  let keeper = Loop.Source {}
  loop.add(keeper)
  let entries = Cell(0)
  let observer = onEachEntryOfFoundation { entries.value += 1 }

  // A loop that sleeps is woken a hundred times. Where its sleeps are long, Foundation's loop has them, and the next ones.
  let (wakes, longSleeps, asleep) = (Cell(0), Cell(0), Cell(ContinuousClock.now))
  let sleeps = Loop.Observer([.beforeWaiting, .afterWaiting]) { activity in
    if activity == .beforeWaiting {
      asleep.value = .now
    } else if .now - asleep.value > .milliseconds(1) {
      longSleeps.value += 1
    }
  }
  loop.add(sleeps)
  Thread {
    for number in 0...100 {
      while loop.statistics.blockCallouts < number || !loop.isWaiting { usleep(100) }
      if number < 100 { loop.perform { wakes.value += 1 } } else { loop.stop() }
    }
  }.start()
  loop.run()
  sleeps.invalidate()
  print("wakes", wakes.value, "few entries", entries.value <= 3 * longSleeps.value + 10)

  // What Foundation's loop keeps for a sleep is not forgotten, though nothing else is in it.
  let heard = Cell(0)
  let idle = onEachSleepOfFoundation { heard.value += 1 }
  // A machine that is busy elsewhere may let a run end before its sleep.
  for _ in 0..<100 where heard.value == 0 { loop.run(for: .milliseconds(20)) }
  idle()
  print("a sleep is heard of", heard.value > 0)

  // One that does not sleep.
  var turns = 0
  let busy = Cell<Loop.Source?>(nil)
  busy.value = Loop.Source {
    turns += 1
    if turns < 10_000 { busy.value?.signal() } else { loop.stop() }
  }
  loop.add(busy.value!)
  busy.value?.signal()
  let isPerformed = Cell(false)
  performInFoundation { isPerformed.value = true }
  entries.value = 0
  let time = ContinuousClock().measure { _ = loop.run() }
  busy.value?.invalidate()
  print("turns", turns, "few entries", entries.value <= Int(time / .microseconds(100)) + 2, "block", isPerformed.value)

  // Each of Foundation's things comes from another thread while Rondo's loop sleeps.
  for way in ["source", "block", "timer"] {
    let isServed = Cell(false)
    let foundation = FoundationLoop()
    whenAsleep(loop) {
      foundation.give(way) {
        isServed.value = true
        loop.stop()
      }
    }
    loop.run(for: .seconds(30))
    print("a \(way) from elsewhere", isServed.value)
  }
  // In runs within runs, too.
  let isServed = Cell(false)
  let foundation = FoundationLoop()
  loop.perform {
    whenAsleep(loop) {
      foundation.give("source") {
        isServed.value = true
        loop.stop()
      }
    }
    loop.run(for: .seconds(30))
    loop.stop()
  }
  loop.run()
  print("a source from elsewhere, in a nested run", isServed.value)
  observer()
  keeper.invalidate()
}
