import CLinux
import Dispatch
import Glibc
import Rondo
import RondoTestSupport

/// What becomes of a loop with few descriptors left: `rondo-probe starve current|main|thread|modes|recover <left>`.
func probeStarving() {
  let left = Int(CommandLine.arguments[3])!
  switch CommandLine.arguments[2] {
  case "main":
    leaveDescriptors(left)
    report("main", Loop.main.run(for: .zero))
  case "current":
    join(
      startThread {
        leaveDescriptors(left)
        report("current", Loop.current.run(for: .zero))
      })
  case "thread": startStarvedThread(left)
  case "modes": runStarvedModes(left)
  default: recoverFromStarving()
  }
}

private func startStarvedThread(_ left: Int) {
  leaveDescriptors(left)
  do throws(LoopThread.StartError) {
    let thread = try LoopThread()
    report("answer", (try? thread.sync { 7 }) ?? 0)
    report("left", descriptorsLeft())
    thread.stop()
  } catch {
    report("error", error)
  }
  report("after", descriptorsLeft())
}

/// Two modes with a level- and an edge-triggered descriptor each are run by turns, nested as well.
private func runStarvedModes(_ left: Int) {
  let loop = Loop.current
  let trace = Cell("")
  let modes: [Loop.Mode] = [.default, "m"]
  let descriptors = (0..<4).map { _ in rondo_eventfd() }
  for (index, descriptor) in descriptors.enumerated() {
    let source = try! Loop.DescriptorSource(
      descriptor, for: .read, trigger: index % 2 == 0 ? .level : .edge, order: index
    ) { _, _ in
      rondo_eventfd_drain(descriptor)
      trace.value += "\(index)"
    }
    loop.add(source, to: modes[index / 2])
  }
  loop.run(for: .zero)
  leaveDescriptors(left)
  for _ in 0..<3 {
    for descriptor in descriptors { rondo_eventfd_signal(descriptor) }
    for mode in modes { loop.run(in: mode, for: .zero) }
  }
  // The nested run takes the other mode's epoll set and gives it back.
  loop.perform {
    rondo_eventfd_signal(descriptors[2])
    loop.run(in: "m", for: .zero)
    rondo_eventfd_signal(descriptors[0])
  }
  loop.run(for: .zero)
  report("trace", trace.value)
  for mode in modes {
    let poster = startThread {
      spin { loop.isWaiting }
      loop.requestStop()
    }
    report("post-in-\(mode == .default ? "default" : mode.rawValue)", loop.run(in: mode))
    join(poster)
  }
}

/// A mode that had to share gets an epoll set of its own when there are descriptors again.
private func recoverFromStarving() {
  let loop = Loop.current
  let trace = Cell("")
  for mode in [.default, "m"] as [Loop.Mode] {
    let name = mode == .default ? "d" : "m"
    loop.add(try! Loop.DescriptorSource(readyDescriptor(), for: .read) { _, _ in trace.value += name }, to: mode)
  }
  loop.run(for: .zero)
  let fillers = leaveDescriptors(0)
  loop.run(in: "m", for: .zero)
  for filler in fillers.prefix(4) { close(filler) }
  for _ in 0..<2 {
    loop.run(for: .zero)
    loop.run(in: "m", for: .zero)
  }
  report("trace", trace.value)
  report("left", descriptorsLeft())
}

/// Fills the process's descriptors, of which it may have 256 from now on, up to `left`.
///
/// - Returns: What stands in the way, to be closed again.
@discardableResult
private func leaveDescriptors(_ left: Int) -> [CInt] {
  var limit = rlimit()
  _ = unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  limit.rlim_cur = 256
  _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  let fillers = fill()
  for filler in fillers.suffix(left) { close(filler) }
  return fillers.dropLast(left)
}

/// Takes all the descriptors that are left.
private func fill() -> [CInt] {
  var fillers: [CInt] = []
  while true {
    let filler = dup(0)
    if filler < 0 { return fillers }
    fillers.append(filler)
  }
}

private func descriptorsLeft() -> Int {
  let fillers = fill()
  for filler in fillers { close(filler) }
  return fillers.count
}

/// How many descriptors loops hold.
func probeHeldDescriptors() {
  var before = openDescriptors()
  func note(_ name: String) {
    let now = openDescriptors()
    report(name, now - before)
    before = now
  }
  let thread = try! LoopThread()
  note("loop")
  for mode in ["a", "b"] as [Loop.Mode] {
    _ = try? thread.sync {
      Loop.current.add(Loop.Source {}, to: mode)
      Loop.current.run(in: mode, for: .zero)
    }
  }
  note("two-modes")
  thread.stop()
  note("end")
  Loop.main.run(for: .zero)
  note("main")
}

/// A daemon that used its main loop before daemon(3): SIGTERM, by a dispatch source, and main-actor code afterwards.
func probeDaemon() {
  Loop.main.run(for: .zero)
  guard becomeDaemon(1, 1) == 0 else { return report("daemon", errno) }
  // The probe's own alarm does not follow into a child.
  endProcess(after: 60)
  signal(SIGTERM, SIG_IGN)
  let source = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .main)
  source.setEventHandler {
    report("signal", SIGTERM)
    Loop.main.stop()
  }
  DispatchQueue.main.async { report("main", "served") }
  // Not before: until libdispatch watches it, the signal is ignored.
  source.setRegistrationHandler { kill(getpid(), SIGTERM) }
  source.activate()
  report("result", Loop.main.run())
}

/// Swift's Glibc module hides daemon(3), which forks.
@_silgen_name("daemon") private func becomeDaemon(_ keepsDirectory: CInt, _ keepsOutput: CInt) -> CInt

/// Breaks a rule of the API: `rondo-probe break interval|thread|timeout`.
func probeBreach() {
  let loop = Loop.current
  switch CommandLine.arguments[2] {
  case "interval": _ = Loop.Timer(every: .zero) { _ in }
  case "thread": join(startThread { loop.run(for: .zero) })
  default:
    let timeout = loop.makeTimeout(after: .seconds(1)) {}
    join(startThread { loop.discard(timeout) })
  }
}
