import RondoTestSupport
import Testing

/// Exact costs: system calls, locks, and of a release build allocations.
@Suite(.serialized, .offThePool) struct CountTests {
  @Test func `waking a sleeping loop costs the sender one system call and the loop one wait`() throws {
    let (findings, calls) = try Probe.trace("wake")
    #expect(findings["wakeups"] == "220")
    #expect(findings["spurious"] == "0")
    #expect(calls.counts(from: "sender begins", to: "sender ends") == ["epoll_ctl": 200])
    #expect(calls.counts(from: "loop begins", to: "loop ends") == ["epoll_wait": 200])
  }

  @Test func `waking a loop that is awake costs no system call`() throws {
    let (findings, calls) = try Probe.trace("wake-awake")
    #expect(findings["blocks"] == "1100")
    #expect(findings["performs"] == "1")
    let counts = try #require(calls.counts(from: "sender begins", to: "sender ends"))
    // Memory for a thousand blocks may come from the kernel; nothing else does.
    #expect(counts.filter { !["brk", "mmap", "munmap", "mremap"].contains($0.key) } == [:])
  }

  @Test func `a repeating timer costs one wait and one settime for each fire`() throws {
    let (findings, calls) = try Probe.trace("timer")
    #expect(findings["fires"] == "110")
    #expect(calls.counts(from: "loop begins", to: "loop ends") == ["epoll_wait": 100, "timerfd_settime": 100])
  }

  @Test func `a hundred ready descriptors are one wait`() throws {
    let (findings, calls) = try Probe.trace("descriptors")
    #expect(findings["calls"] == "100")
    #expect(calls.counts(from: "loop begins", to: "loop ends") == ["epoll_wait": 1])
  }

  @Test func `a change of interest costs one epoll_ctl and none if it flips back`() throws {
    let (_, calls) = try Probe.trace("interest")
    #expect(calls.counts(from: "flip begins", to: "flip ends") == ["epoll_wait": 1])
    #expect(calls.counts(from: "disable begins", to: "disable ends") == ["epoll_ctl": 1, "epoll_wait": 1])
    // Whether the number still stands for the same file: nothing of it was watched.
    #expect(
      calls.counts(from: "enable begins", to: "enable ends") == ["epoll_ctl": 1, "epoll_wait": 1, "fstat": 1])
    #expect(calls.counts(from: "widen begins", to: "widen ends") == ["epoll_ctl": 1, "epoll_wait": 1])
    #expect(calls.counts(from: "narrow begins", to: "narrow ends") == ["epoll_ctl": 1, "epoll_wait": 1])
    #expect(calls.counts(from: "shared begins", to: "shared ends") == ["epoll_ctl": 1, "epoll_wait": 1])
    // Whatever the first wanted, the second wants as well: only with the last one the number goes.
    #expect(calls.counts(from: "remove begins", to: "remove ends") == ["epoll_ctl": 1])
    #expect(calls.counts(from: "none begins", to: "none ends") == ["epoll_wait": 1])
  }

  /// The second read finds nothing: no other call proves that an edge tells of the next request.
  @Test func `a task that echoes costs two reads, one write and one wait for each request`() throws {
    let (findings, calls) = try Probe.trace("async-echo")
    #expect(findings["answers"] == "200")
    #expect(
      calls.counts(from: "loop begins", to: "loop ends") == ["epoll_wait": 100, "recvfrom": 200, "sendto": 100])
  }

  @Test func `a virtual turn makes no system call`() throws {
    let (findings, calls) = try Probe.trace("virtual")
    #expect(findings["fires"] == "100")
    #expect(calls.counts(from: "loop begins", to: "loop ends") == [:])
  }

  @Test(.enabled(if: Probe.isOptimised, "make stress counts them")) func `a quiet turn allocates nothing`() throws {
    let findings = try Probe.findings("allocations")
    #expect(findings["quiet"] == "0")
    #expect(findings["runs"] == "0")
    #expect(findings["timers"] == "0")
  }

  @Test func `a quiet turn takes no lock`() throws {
    #expect(try Probe.findings("lock") == ["turns": "1000"])
  }

  @Test func `a call between actors of two loops costs the caller no more than a parked wake`() throws {
    let (findings, calls) = try Probe.trace("calls")
    // The function's beginning, and 250 returns, of which the last 200 are counted.
    #expect(findings["jobs"] == "251")
    let counts = try #require(calls.counts(from: "loop begins", to: "loop ends"))
    #expect(Set(counts.keys).isSubset(of: ["epoll_ctl", "epoll_wait"]))
    // A loop that is found awake is not woken.
    #expect(counts["epoll_ctl", default: 0] <= 200)
    #expect(counts["epoll_wait", default: 0] <= 200)
  }

  @Test(.enabled(if: Probe.isOptimised, "make stress counts them"), arguments: ["calls", "own-jobs"])
  func `jobs between two loops, and those that a loop's own thread enqueues, allocate nothing`(_ subject: String) throws
  {
    let findings = try Probe.findings(subject)
    #expect(findings["allocations"] == "0")
    let jobs = try #require(findings["jobs"].flatMap(Int.init))
    #expect(jobs >= (subject == "calls" ? 251 : 2_100))
  }

  @Test func `ticks without number through a slow task stay in constant memory`() throws {
    let findings = try Probe.findings("ticks")
    // One, and the 999 of each sleep.
    #expect(findings["ticks"] == (isWhole ? "1000000" : "100900"))
    let growth = try #require(findings["growth"].flatMap(Int.init))
    // One tick more for each that was not taken would be a megabyte and more. The thread that watches scopes of virtual time
    // has allocated some kilobytes when it first looks.
    #expect(growth < 20_000)
  }

  @Test(arguments: [
    "fired-timers", "cancelled-timers", "fired-timeouts", "discarded-timeouts", "blocks", "jobs",
  ])
  func `a great many that have gone leave at most a tenth of the memory that they took`(_ kind: String) throws {
    let findings = try Probe.findings("memory", kind)
    let taken = try #require(findings["taken"].flatMap(Int.init))
    let left = try #require(findings["left"].flatMap(Int.init))
    #expect(taken > (isWhole ? 4_000 : 400))
    // 64 pages are what the tables of a small loop may keep.
    #expect(left <= taken / 10 + 64, "\(left) of \(taken) pages are left")
  }

  @Test func `a thousand threads that ran a loop leave no descriptor open`() throws {
    #expect(try Probe.findings("threads") == ["runs": "1000", "left": "0"])
  }
}

/// What a process that owns its main thread sees.
@Suite(.serialized, .offThePool) struct MainThreadTests {
  @Test func `main-actor code resumes on the main thread, and an idle loop then uses no processor time`() throws {
    let findings = try Probe.findings("main-queue")
    #expect(findings["result"] == "stopped")
    #expect(findings["resumptions"] == "200")
    #expect(findings["idle-result"] == "timedOut")
    let turns = try #require(findings["idle-turns"].flatMap(Int.init))
    #expect(turns <= 3)
    // A descriptor left unread would take all of the 300 ms.
    let microseconds = try #require(findings["idle-microseconds"].flatMap(Int.init))
    #expect(microseconds < 100_000)
  }

  @Test func `the main queue's work is not slept over by a run after the one that heard of it, nor by one within it`()
    throws
  {
    let findings = try Probe.findings("owed-main-queue")
    #expect(findings["descriptor-result"] == "handledSource")
    #expect(findings["after-descriptor"] == "0")
    #expect(findings["next-result"] == "handledSource")
    #expect(findings["after-next"] == "1")
    #expect(findings["nested-result"] == "handledSource")
    #expect(findings["after-nested"] == "2")
    #expect(findings["outer-result"] == "timedOut")
  }

  @Test(arguments: [
    ("timer", "callOutTimer"), ("source", "callOutSource"), ("descriptor", "callOutDescriptorSource"),
    ("observer", "callOutObserver"), ("block", "callOutBlock"), ("main-queue", "callOutMainQueue"),
    ("job", "callOutJob"),
  ])
  func `a backtrace says what kind of callout runs`(kind: String, function: String) throws {
    let frame = try #require(try Self.frames.get()[kind])
    // A mangled name spells the function out, after its length.
    #expect(frame.contains("\(function.count)\(function)"))
    #expect(frame.hasSuffix(" in-run"))
  }

  @Test func `the loop sleeps in a function of its own`() throws {
    #expect(try Self.frames.get()["sleep-function"] == "true")
  }

  @Test func `runMain returns what its body returns, throws what it throws, and cancels it when the loop is stopped`()
    throws
  {
    let findings = try Probe.findings("run-main")
    #expect(findings["value"] == "42")
    #expect(findings["error"] == "Failure()")
    #expect(findings["stopped"] == "CancellationError()")
    #expect(findings["nested"] == "finished")
    // Nothing of the body's end is left to stop a later run.
    #expect(findings["idle"] == "timedOut")
  }

  @Test func `the process exits with what the body returned, and fails with an error that nobody catches`() {
    #expect(Probe.status("exit-code") == 7)
    #expect(![0, 7].contains(Probe.status("uncaught")))
  }

  @Test func `a main thread that ends with items in its loop says so, and what to import`() {
    let end = Probe.end(["main-ends"])
    #expect(end.status == 0)
    #expect(end.output.contains("The main thread ends, and Loop.main with it: heartbeat and 1 more became invalid."))
    #expect(end.output.contains("import RondoMain"))
  }

  @Test func `the loop of a main thread that has ended is an ended one, though nobody asked for it before`() {
    let end = Probe.end(["main-gone"])
    #expect(end.status == 0)
    let lines = Set(end.output.split(separator: "\n").filter { !$0.hasPrefix("Rondo:") })
    #expect(lines == ["added false", "performed false", "waits false", "sleep ended"])
    #expect(end.output.contains("Rondo: The main thread has ended, and Loop.main with it"))
  }

  @Test func `descriptors 0, 1 and 2 stand for no file of a loop's, though they were closed at the start`() {
    let end = Probe.end(shell: "exec \"$0\" standard-descriptors <&- >&- 2>&-")
    #expect(end.status == 0)
  }

  @Test func `a descriptor that stays ready does not keep the main queue from its turn`() throws {
    let findings = try Probe.findings("busy-main-queue")
    let runs = try #require(findings["runs"].flatMap(Int.init))
    #expect(runs <= 3)
  }

  @Test func `a daemon that used its main loop before it forked is served its main queue, and its SIGTERM`() throws {
    #expect(try Probe.findings("daemon") == ["main": "served", "signal": "15", "result": "stopped"])
  }

  @Test func `actors and tasks of the main loop run on the main thread, which the main actor may assume`() throws {
    let findings = try Probe.findings("main-loop")
    #expect(findings["right"] == "200")
    #expect(findings["wrong"] == "0")
  }

  private static let frames = Result { try Probe.findings("frames") }
}
