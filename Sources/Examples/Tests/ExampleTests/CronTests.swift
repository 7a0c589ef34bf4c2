import Glibc
import Rondo
import RondoDaemon
import RondoTesting
import Testing

@testable import rondo_cron

/// The example `rondo-cron`: what it reads, and what it does as a process.
@Suite struct CronTests {
  @Test func `a crontab's lines are schedules and commands`() throws {
    let text = """
      # A comment, and a blank line.

      30 3 * * mon-fri  backup --all "a  b"
      \t@daily true
      @every 50ms date
      @start echo hello
      """
    let entries = try Crontab(text, in: .utc).entries
    #expect(entries.map(\.line) == [3, 4, 5, 6])
    #expect(entries.map(\.command) == ["backup --all \"a  b\"", "true", "date", "echo hello"])
    #expect(entries[0].schedule == .calendar(try CalendarRule("30 3 * * mon-fri")))
    #expect(entries[1].schedule == .calendar(try CalendarRule("0 0 * * *")))
    #expect(entries[2].schedule == .every(.milliseconds(50)) && entries[3].schedule == .start)
    #expect(try Crontab("", in: .utc) == Crontab())
  }

  @Test(arguments: [
    ("* * * * *", CrontabError.Reason.incomplete), ("@start", .incomplete), ("@start   ", .incomplete),
    ("@every 5s", .incomplete),
    ("* * * *", .incomplete), ("@every 5 x", .duration("5")), ("@every 0s x", .duration("0s")),
    ("@every 99999999999999999999s x", .duration("99999999999999999999s")), ("@never x", .name("@never")),
    ("* 24 * * * x", .rule(.malformed(field: "hour", text: "24"))), ("0 0 31 2 * x", .rule(.never)),
  ])
  func `nonsense is named by its line, and its field`(_ line: String, _ reason: CrontabError.Reason) {
    #expect(throws: CrontabError(line: 3, reason)) { try Crontab("# One\n@start x\n\(line)\n", in: .utc) }
    #expect(CrontabError(line: 3, reason).description.hasPrefix("line 3: "))
  }

  @Test func `it runs its jobs, reads its file again when that is replaced, and ends when told to`() throws {
    try onLoopThread { stage in
      let root = "/tmp/\(uniqueName())"
      try #require(unsafe mkdir(root, 0o700) == 0)
      defer { for name in ["/jobs", "/new", "/started", "/again", "/replaced", ""] { remove(root + name) } }
      write("@start touch \(root)/started\n@every 20ms touch \(root)/again\n", to: root + "/jobs")
      var command = ChildSource.Command(try program("rondo-cron"), [root + "/jobs", "--utc"])
      command.output = .null
      command.error = .null
      let cron = try ChildSource(spawning: command) { _, exit in stage.note("\(exit)") }
      stage.loop.add(cron)
      func wait(for name: String) {
        let end = SuspendingClock.now.advanced(by: .seconds(240))
        while unsafe cron.isValid && access(root + name, F_OK) != 0 && SuspendingClock.now < end {
          stage.loop.run(for: .milliseconds(5))
        }
        #expect(unsafe access(root + name, F_OK) == 0)
      }
      wait(for: "/started")
      wait(for: "/again")
      write("@every 20ms touch \(root)/replaced\n", to: root + "/new")
      try #require(unsafe rename(root + "/new", root + "/jobs") == 0)
      wait(for: "/replaced")
      // A daemon that cannot be told is not ended by it, and what cannot be read changes nothing.
      try cron.send(SIGUSR1)
      write("nonsense\n", to: root + "/jobs")
      #expect(unsafe unlink(root + "/replaced") == 0)
      wait(for: "/replaced")
      #expect(cron.isValid)
      try cron.send(SIGTERM)
      stage.run { !cron.isValid }
      #expect(stage.text == "exited with 0")
    }
  }

  @Test func `a job that outlasts the grace and does not hear is killed, and nothing is left behind`() throws {
    try onLoopThread { stage in
      let root = "/tmp/\(uniqueName())"
      try #require(unsafe mkdir(root, 0o700) == 0)
      defer { for name in ["/jobs", "/started", ""] { remove(root + name) } }
      // It says its number when it does not hear any more.
      write("@start trap '' TERM; echo $$ >\(root)/started; while :; do sleep 1; done\n", to: root + "/jobs")
      var command = ChildSource.Command(try program("rondo-cron"), [root + "/jobs", "--utc", "--grace", "0"])
      command.output = .null
      command.error = .null
      let cron = try ChildSource(spawning: command) { _, exit in stage.note("\(exit)") }
      stage.loop.add(cron)
      var number: CInt?
      let end = SuspendingClock.now.advanced(by: .seconds(240))
      while cron.isValid, number == nil, SuspendingClock.now < end {
        stage.loop.run(for: .milliseconds(5))
        number = text(of: root + "/started").flatMap { CInt($0.filter(\.isNumber)) }
      }
      let job = try #require(number)
      try cron.send(SIGTERM)
      stage.run { !cron.isValid }
      // What it could not do is told, and the job is gone, reaped too.
      #expect(stage.text == "exited with 1")
      #expect(kill(job, 0) == -1 && errno == ESRCH)
    }
  }

  private func text(of path: String) -> String? {
    guard let file = unsafe fopen(path, "r") else { return nil }
    defer { unsafe fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 32)
    let count = unsafe fread(&bytes, 1, bytes.count, file)
    return count > 1 ? String(decoding: bytes.prefix(count), as: UTF8.self) : nil
  }

  private func write(_ text: String, to path: String) {
    let file = unsafe fopen(path, "w")!
    unsafe fputs(text, file)
    unsafe fclose(file)
  }

  private func remove(_ path: String) {
    _ = unsafe Glibc.remove(path)
  }
}
