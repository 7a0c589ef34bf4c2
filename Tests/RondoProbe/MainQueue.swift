import CLinux
import Glibc
import Rondo

/// 200 main-actor resumptions after suspension, with `import Rondo` alone; then the loop runs on with nothing to do.
func probeMainQueue() {
  let onMain = Cell(0)
  Task { @MainActor in
    for number in 0..<200 {
      await elsewhere(number)
      if rondo_is_main_thread() != 0 { onMain.value += 1 }
    }
    Loop.main.stop()
  }
  let result = Loop.main.run()
  report("result", result)
  report("resumptions", onMain.value)

  let turns = Loop.main.statistics.turns
  let cpu = processorMicroseconds()
  report("idle-result", Loop.main.run(for: .milliseconds(300)))
  report("idle-turns", Loop.main.statistics.turns - turns)
  report("idle-microseconds", processorMicroseconds() - cpu)
}

/// The kernel tells once that the queue has work: with a descriptor that ends the run, and with a timer whose callout runs
/// the loop. Whoever runs it next has to find the work.
func probeOwedMainQueue() {
  let served = Cell(0)
  var ends: [CInt] = [0, 0]
  unsafe pipe(&ends)
  unsafe write(ends[1], "x", 1)
  let source = try! Loop.DescriptorSource(ends[0], for: .read) { source, _ in source.invalidate() }
  Loop.main.add(source)
  Loop.main.add(Loop.Source {})
  Task { @MainActor in served.value += 1 }
  report("descriptor-result", Loop.main.run(for: .zero, returnAfterSourceHandled: true))
  report("after-descriptor", served.value)
  report("next-result", Loop.main.run(for: .zero, returnAfterSourceHandled: true))
  report("after-next", served.value)

  Loop.main.add(
    Loop.Timer(after: .zero) { _ in
      report("nested-result", Loop.main.run(for: .zero, returnAfterSourceHandled: true))
      report("after-nested", served.value)
    })
  Task { @MainActor in served.value += 1 }
  report("outer-result", Loop.main.run(for: .zero))
}

/// The main thread ends with items in its loop, as that of an async `main` does without RondoMain.
func probeMainThreadEnds() {
  let timer = Loop.Timer(after: .seconds(600)) { _ in }
  Loop.main.add(timer)
  let source = Loop.Source {}
  source.name = "heartbeat"
  Loop.main.add(source)
  let other = try! LoopThread(name: "other")
  other.loop.perform {
    while timer.isValid { usleep(1_000) }
    exit(0)
  }
  withExtendedLifetime(other) { pthread_exit(nil) }
}

/// Leaves the main actor, and comes back by suspension.
private nonisolated func elsewhere(_ number: Int) async {
  if number % 10 == 0 { try? await Task.sleep(for: .microseconds(100)) }
}

/// Processor time of the whole process.
private func processorMicroseconds() -> Int {
  var usage = rusage()
  _ = unsafe getrusage(RUSAGE_SELF.rawValue, &usage)
  return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1_000_000 + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec
}
