// Ported and unported code on one thread, for the tests of the bridge: `foundation-probe <subject> [main]`.

import RondoFoundation
import RondoTestSupport

let subjects: [String: () -> Void] = [
  "unported": serveUnported,
  "host": serveThroughFoundation,
  "was-there": serveWhatWasThere,
  "library": serveLibrary,
  "guest": serveGuest,
  "process": waitForProcess,
  "keep-alive": stayForProcess,
  "empty": endWhenEmpty,
  "busy": keepBusy,
  "stop": stopEither,
  "nest": nest,
  "come-and-go": comeAndGo,
  "flood": flood,
  "threads": endThreads,
  "sleep": sleepWell,
  "fork": forkChild,
  "idle": idle,
  "quiet": stayQuiet,
  "given-back": runModeGivenBack,
  "streams": serveStreams,
  "streams-modes": scheduleStreamsInModes,
  "streams-end": endStreams,
  "streams-main": scheduleStreamOnMain,
  "streams-deferred": deferStreams,
  "streams-embedded": scheduleStreamEmbedded,
  "door": useDoor,
  "door-elsewhere": useDoorFromElsewhere,
  "door-kept": useKeptRunLoop,
  "door-kept-elsewhere": useKeptRunLoopFromElsewhere,
  "door-request": requestWhileServingFoundation,
  "wait-process": waitUntilExit,
  "wait-run": waitInFoundation,
  "wait-elsewhere": waitForTimerFromElsewhere,
  "wake-sleeper": wakeSleeper,
  "no-descriptors": goWithoutDescriptors,
  "dying": askWhileDying,
  "half-of-descriptors": goWithHalfOfDescriptors,
]

guard CommandLine.arguments.count >= 2, let subject = subjects[CommandLine.arguments[1]] else {
  print("usage: foundation-probe", subjects.keys.sorted().joined(separator: "|"), "[main]")
  exit(2)
}
// A probe that waits for ever has failed.
endProcess(after: 60)
if CommandLine.arguments.last == "main" { subject() } else { onThread(subject) }
