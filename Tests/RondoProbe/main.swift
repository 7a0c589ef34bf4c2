// Does one thing many times between two marks, for the tests that count what it cost: `rondo-probe <subject>`.
// Message ports between processes that die, under attack, and without descriptors: `rondo-probe kill COUNT DIRECTORY`,
// `attack WAY`, `port-descriptors DIRECTORY`. The memory that comes back: `memory KIND`.
// For the first it starts itself as `rondo-probe serve WAY NAME [DIRECTORY]`. Random operations, for `make soak`: `soak`.

import Glibc
import RondoTestSupport

let subjects: [String: () -> Void] = [
  "wake": probeWake,
  "wake-awake": probeWakeAwake,
  "timer": probeTimer,
  "descriptors": probeDescriptors,
  "interest": probeInterest,
  "virtual": probeVirtualTurns,
  "async-echo": probeAsyncEcho,
  "allocations": probeAllocations,
  "lock": probeLock,
  "threads": probeThreadDescriptors,
  "frames": probeFrames,
  "main-queue": probeMainQueue,
  "owed-main-queue": probeOwedMainQueue,
  "hops": probeHops,
  "calls": probeCalls,
  "own-jobs": probeOwnJobs,
  "ticks": probeTicks,
  "run-main": probeRunMain,
  "exit-code": probeExitCode,
  "main-ends": probeMainThreadEnds,
  "main-gone": probeMainThreadGone,
  "standard-descriptors": probeStandardDescriptors,
  "busy-main-queue": probeBusyMainQueue,
  "uncaught": probeUncaught,
  "main-loop": probeMainLoop,
  "starve": probeStarving,
  "break": probeBreach,
  "held": probeHeldDescriptors,
  "daemon": probeDaemon,
  "stopping": probeStopping,
  "epoll-host": probeEpollHost,
  "dispatch-host": probeDispatchHost,
  "ready-turns": probeReadyTurns,
  "interest-turns": probeInterestTurns,
]

// A probe that waits for ever has failed; no probe takes a hundredth of this.
endProcess(after: 600)
let arguments = CommandLine.arguments.dropFirst()
switch (arguments.first, arguments.count) {
case ("kill", 3): probeKills(count: Int(arguments[2])!, directory: arguments[3])
case ("attack", 2): probeAttack(Attack(rawValue: arguments[2])!)
case ("port-descriptors", 2): probePortDescriptors(directory: arguments[2])
case ("memory", 2): probeMemory(arguments[2])
case ("soak", 1): soak()
case ("serve", 3...4):
  serve(Way(rawValue: arguments[2])!, name: arguments[3], directory: arguments.dropFirst(3).first)
default:
  guard let subject = arguments.first, let probe = subjects[subject] else {
    let names = ["kill", "attack", "memory", "port-descriptors", "serve", "soak"] + subjects.keys.sorted()
    print("usage: rondo-probe " + names.joined(separator: "|"))
    exit(2)
  }
  probe()
}
