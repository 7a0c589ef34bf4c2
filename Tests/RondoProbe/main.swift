// Does one thing many times between two marks, for the tests that count what it cost: `rondo-probe <subject>`.

import Glibc
import RondoTestProcess

let subjects: [String: () -> Void] = [
  "wake": probeWake,
  "wake-awake": probeWakeAwake,
  "timer": probeTimer,
  "descriptors": probeDescriptors,
  "interest": probeInterest,
  "virtual": probeVirtualTurns,
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
  "uncaught": probeUncaught,
  "main-loop": probeMainLoop,
  "starve": probeStarving,
  "break": probeBreach,
  "held": probeHeldDescriptors,
  "daemon": probeDaemon,
  "epoll-host": probeEpollHost,
  "dispatch-host": probeDispatchHost,
  "ready-turns": probeReadyTurns,
  "interest-turns": probeInterestTurns,
]

guard CommandLine.arguments.count >= 2, let probe = subjects[CommandLine.arguments[1]] else {
  print("usage: rondo-probe", subjects.keys.sorted().joined(separator: "|"))
  exit(2)
}
// A probe that waits for ever has failed; no probe takes a hundredth of this.
endProcess(after: 300)
probe()
