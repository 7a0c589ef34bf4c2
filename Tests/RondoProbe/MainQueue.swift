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

/// A descriptor that nobody reads, in runs that return after a source: how many of them it takes to serve the main queue.
func probeBusyMainQueue() {
  var ends: [CInt] = [0, 0]
  unsafe pipe(&ends)
  unsafe write(ends[1], "x", 1)
  Loop.main.add(try! Loop.DescriptorSource(ends[0], for: .read) { _, _ in })
  Loop.main.run(for: .zero, returnAfterSourceHandled: true)
  let served = Cell(0)
  Task { @MainActor in served.value += 1 }
  var runs = 0
  while served.value == 0, runs < 100 {
    Loop.main.run(for: .seconds(1), returnAfterSourceHandled: true)
    runs += 1
  }
  report("runs", runs)
}

/// The main thread ends, and nobody there has ever asked for a loop. Another thread asks for its loop then.
func probeMainThreadGone() {
  Task.detached {
    // A thread that has ended, and whose process has not.
    while !mainThreadIsZombie() { usleep(1_000) }
    report("added", Loop.main.add(Loop.Timer(after: .zero) { _ in }))
    report("performed", Loop.main.perform {})
    report("waits", Loop.main.isWaiting)
    do {
      try await Loop.main.clock.sleep(for: .seconds(600))
      report("sleep", "returned")
    } catch {
      report("sleep", "ended")
    }
    exit(0)
  }
  pthread_exit(nil)
}

private func mainThreadIsZombie() -> Bool {
  let file = unsafe open("/proc/self/task/\(getpid())/stat", O_RDONLY)
  defer { close(file) }
  var bytes = [UInt8](repeating: 0, count: 512)
  let length = unsafe read(file, &bytes, bytes.count)
  return String(decoding: bytes[..<max(0, length)], as: UTF8.self).contains(") Z ")
}

/// Started with 0, 1 and 2 closed: exits with 0 if each stands for /dev/null once there is a loop.
func probeStandardDescriptors() {
  _ = Loop.main
  let names = (CInt(0)...2).map { number in
    var name = [UInt8](repeating: 0, count: 64)
    let length = unsafe name.withUnsafeMutableBytes {
      unsafe readlink("/proc/self/fd/\(number)", $0.baseAddress!.assumingMemoryBound(to: CChar.self), 64)
    }
    return String(decoding: name[..<max(0, length)], as: UTF8.self)
  }
  exit(names == ["/dev/null", "/dev/null", "/dev/null"] ? 0 : 9)
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
