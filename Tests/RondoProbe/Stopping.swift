import Glibc
import Rondo
import RondoDaemon

/// Ends some time after a signal asks for it: `rondo-probe stopping daemon|task`.
///
/// It prints "ready" and its number, and how it has ended.
func probeStopping() {
  let word = "ready \(getpid())"
  if CommandLine.arguments[2] == "task" { return stopTask(word) }
  let daemon = try! Daemon(on: .current, grace: .seconds(600), environment: [:])
  let work = daemon.beginWork()
  daemon.whenStopping {
    say("stop")
    daemon.loop.add(Loop.Timer(after: .milliseconds(20)) { _ in work.end() })
  }
  daemon.loop.perform { say(word) }
  let outcome = daemon.run()
  say("\(outcome)")
  exit(outcome.exitCode)
}

private func stopTask(_ word: String) {
  Task {
    let signal = try! await withCancellation(by: [SIGHUP, SIGINT, SIGTERM], on: .main) {
      say(word)
      try? await Loop.main.clock.sleep(for: .seconds(600))
      say("stop")
      try? await Task { try await Loop.main.clock.sleep(for: .milliseconds(20)) }.value
    }
    say("signal \(signal ?? 0)")
    exit(0)
  }
  Loop.main.add(Loop.Source {}, to: .common)
  Loop.main.run()
}

private func say(_ line: String) {
  print(line)
  fflush(nil)
}
