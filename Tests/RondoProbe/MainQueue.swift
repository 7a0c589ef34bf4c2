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
