// A cron daemon: runs commands at the dates of a crontab, which it reads again when it changes.
//
//   rondo-cron FILE [--utc] [--grace SECONDS]
//
// Try it: printf '@start echo hello\n@every 2s date\n* * * * * echo a new minute\n' >/tmp/jobs; rondo-cron /tmp/jobs
// It says hello, and the date every two seconds. Write another job into the file, and it is run. `kill -USR1` has it tell
// what comes next; Ctrl-C waits for the jobs that run, as long as the grace time, and twice does not: then they are asked
// to end, and two seconds later killed.

import Glibc
import Rondo
import RondoDaemon

/// Says something on the standard output at once.
func say(_ text: String) {
  print("rondo-cron: \(text)")
  fflush(nil)
}

/// The text of a file.
func contents(of path: String) throws -> String {
  guard let file = unsafe fopen(path, "re") else { throw FileFailure(path: path, errno: errno) }
  defer { unsafe fclose(file) }
  var bytes: [UInt8] = []
  var buffer = [UInt8](repeating: 0, count: 4_096)
  while case let count = unsafe fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer.prefix(count) }
  // Half a crontab is none.
  guard unsafe ferror(file) == 0 else { throw FileFailure(path: path, errno: errno) }
  return String(decoding: bytes, as: UTF8.self)
}

/// Why there is no crontab.
struct FileFailure: Error, CustomStringConvertible {
  let path: String
  let errno: CInt

  var description: String { "\(path) cannot be read: errno \(errno)" }
}

/// What the command line says.
struct Options: Sendable {
  var path = ""
  var zone = CalendarRule.Zone.local
  var grace: Int64 = 30

  init?(_ arguments: [String]) {
    var rest = arguments.dropFirst()
    while let argument = rest.popFirst() {
      switch argument {
      case "--utc": zone = .utc
      case "--grace":
        guard let seconds = rest.popFirst().flatMap(Int64.init), 0...86_400 ~= seconds else { return nil }
        grace = seconds
      case _ where argument.hasPrefix("-") || !path.isEmpty: return nil
      default: path = argument
      }
    }
    if path.isEmpty { return nil }
  }
}

/// Runs jobs until it is told to stop; what to exit with.
func serve(_ options: Options) throws -> CInt {
  let daemon = try Daemon(grace: .seconds(options.grace))
  let jobs = Jobs(daemon)
  let read: @Sendable () throws -> Void = {
    try jobs.replace(by: Crontab(contents(of: options.path), in: options.zone))
    say("\(jobs.entries.count) jobs")
    daemon.setStatus("\(jobs.entries.count) jobs")
  }
  // Watched before it is read, so that no change is missed. What cannot be read leaves the jobs that are known.
  let file = try PathSource(options.path) { source, change in
    if change.contains(.failed), let error = source.error { say("no change will be noticed any more: \(error)") }
    guard !change.isDisjoint(with: [.appeared, .replaced, .finished, .missed]) else { return }
    do { try read() } catch { say("\(error)") }
  }
  try read()
  jobs.begin()
  let status = try SignalSource(SIGUSR1) { _, _ in jobs.tellStatus() }
  daemon.loop.add(file)
  daemon.loop.add(status)
  daemon.whenReloading(read)
  daemon.whenStopping {
    file.invalidate()
    jobs.stop()
  }
  let outcome = daemon.run()
  // A user who asks twice wants an immediate end.
  if case .interrupted = outcome { jobs.end(grace: .zero) } else { jobs.end(grace: .seconds(2)) }
  return outcome.exitCode
}

guard let options = Options(CommandLine.arguments) else {
  print("usage: rondo-cron FILE [--utc] [--grace SECONDS]")
  exit(2)
}
do {
  exit(try serve(options))
} catch {
  say("\(error)")
  exit(1)
}
