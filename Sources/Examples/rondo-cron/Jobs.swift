import Glibc
import Rondo
import RondoDaemon

/// The jobs of a crontab, and those that run. Only the main thread uses it.
final class Jobs: @unchecked Sendable {
  private let daemon: Daemon
  private var timers: [(entry: Crontab.Entry, timer: Timer)] = []
  private var running: [String: ChildSource] = [:]
  private(set) var entries: [Crontab.Entry] = []

  private enum Timer {
    case calendar(ClockTimer)
    case every(Loop.Timer)
  }

  init(_ daemon: Daemon) {
    self.daemon = daemon
  }

  /// From now on these are the jobs. What runs goes on.
  func replace(by crontab: Crontab) throws {
    var fresh: [(entry: Crontab.Entry, timer: Timer)] = []
    do {
      for entry in crontab.entries {
        switch entry.schedule {
        case .start: break
        case .every(let interval):
          fresh.append((entry, .every(Loop.Timer(every: interval) { [weak self] _ in self?.run(entry, missed: 0) })))
        case .calendar(let rule):
          let timer = try ClockTimer(by: rule) { [weak self] _, tick in self?.run(entry, missed: tick.missed) }
          fresh.append((entry, .calendar(timer)))
        }
      }
    } catch {
      // Those before stay as they are.
      for (_, timer) in fresh { end(timer) }
      throw error
    }
    stop()
    timers = fresh
    entries = crontab.entries
    for (_, timer) in timers {
      switch timer {
      case .calendar(let timer): daemon.loop.add(timer)
      case .every(let timer): daemon.loop.add(timer)
      }
    }
  }

  /// Begins no job any more.
  func stop() {
    for (_, timer) in timers { end(timer) }
    timers = []
  }

  private func end(_ timer: Timer) {
    switch timer {
    case .calendar(let timer): timer.invalidate()
    case .every(let timer): timer.invalidate()
    }
  }

  /// Runs those of the start.
  func begin() {
    for entry in entries where entry.schedule == .start { run(entry, missed: 0) }
  }

  private func run(_ entry: Crontab.Entry, missed: Int) {
    if missed > 0 { say("\(entry.command): \(missed) more dates have passed, and count as one") }
    guard running[entry.command] == nil else { return say("\(entry.command): still running, left out") }
    var command = ChildSource.Command("/bin/sh", ["-c", entry.command])
    command.input = .null
    let work = daemon.beginWork()
    do {
      let child = try ChildSource(spawning: command) { [weak self] _, exit in
        self?.running[entry.command] = nil
        if !exit.isSuccess { say("\(entry.command): \(exit)") }
        work.end()
      }
      running[entry.command] = child
      daemon.loop.add(child)
    } catch {
      say("\(entry.command): \(error)")
      work.end()
    }
  }

  /// Ends what has not ended by itself, and waits for that: nothing is left behind, and nothing unreaped.
  func end(grace: Duration) {
    for child in running.values { try? child.terminate(grace: grace) }
    // What the kernel does not let go of is left to it.
    let end = SuspendingClock.now.advanced(by: grace + .seconds(5))
    while !running.isEmpty, SuspendingClock.now < end {
      daemon.loop.run(until: end, returnAfterSourceHandled: true)
    }
  }

  /// What there is to do, and what is done.
  func tellStatus() {
    for (entry, timer) in timers {
      let wait: Duration
      switch timer {
      case .calendar(let timer): wait = (timer.nextDate ?? .zero) - timer.clock.now
      case .every(let timer): wait = SuspendingClock.now.duration(to: timer.fireDate)
      }
      let state = running[entry.command].map { ", running as process \($0.process)" } ?? ""
      say("line \(entry.line): \(entry.command): in \(wait)\(state)")
    }
    say("\(entries.count) jobs, \(running.count) running")
  }
}
