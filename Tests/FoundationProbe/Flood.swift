import Rondo
import RondoFoundation

/// Two senders signal a source of each loop and post blocks, one after the other: each waits until what it sent has come.
///
/// Signals coalesce, so each sender has sources of its own. A lost wake stands still.
func flood() {
  touchFoundation()
  let loop = Loop.current
  let runLoop = RunLoop.current
  let rounds = 3_000
  let ended = Cell(0)
  var keepers: [AnyObject] = []
  for _ in 0..<2 {
    let answer = DispatchSemaphore(value: 0)
    let hand = HandSource { answer.signal() }
    let source = Loop.Source { answer.signal() }
    loop.add(source)
    keepers += [hand, source]
    Thread {
      for round in 0..<rounds {
        switch round % 3 {
        case 0: hand.signal()
        case 1: source.signal()
        default: runLoop.perform { answer.signal() }
        }
        answer.wait()
      }
      runLoop.perform { ended.value += 1 }
    }.start()
  }
  // By turns, a run of Rondo's and a run of Foundation's.
  while ended.value < 2 {
    runLoop.run(mode: .default, before: Date(timeIntervalSinceNow: 0.01))
    runFoundation(for: 0.01)
  }
  print("ended", ended.value)
}

/// Threads with both loops come and go; says how many descriptors they leave open.
func endThreads() {
  let fires = Cell(0)
  func runThreads(_ count: Int) {
    for index in 0..<count {
      onThread {
        if index.isMultiple(of: 2) { touchFoundation() }
        let runLoop = RunLoop.current
        touchFoundation()
        Timer.scheduledTimer(withTimeInterval: 0, repeats: false) { _ in fires.value += 1 }
        onFoundationTimer(after: 0) { fires.value += 1 }
        runLoop.run()
        // Still there when the thread ends.
        Timer.scheduledTimer(withTimeInterval: 3_600, repeats: false) { _ in }
        onFoundationTimer(after: 3_600) {}
      }
    }
  }
  runThreads(2)
  usleep(50_000)
  let before = openDescriptors()
  runThreads(200)
  // A thread closes its descriptors after it has said that it is done.
  for _ in 0..<1_000 where openDescriptors() > before { usleep(1_000) }
  print("fires", fires.value, "left", openDescriptors() - before)
}
