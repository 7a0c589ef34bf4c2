import RondoFoundation
import RondoTestSupport
import Testing

/// Ported and unported files that share a thread: what each subject of `foundation-probe` prints.
@Suite(.offThePool) struct BridgeTests {
  enum Place: String, CaseIterable, Sendable { case main, worker }

  private func lines(_ subject: String, on place: Place) throws -> [String] {
    try RondoFoundationTests.lines(of: "foundation-probe", [subject] + (place == .main ? ["main"] : []))
      .filter { !$0.isEmpty }
  }

  @Test(arguments: Place.allCases)
  func `an unported file's timers, blocks, notifications and file handles are served by a ported run`(
    _ place: Place
  ) throws {
    let ofMain = place == .main
    #expect(
      try lines("unported", on: place)
        == ["asap"] + (ofMain ? ["data available"] : []) + ["idle", "perform"] + (ofMain ? ["read abc"] : [])
        + ["timer", "serving"])
  }

  @Test(arguments: Place.allCases)
  func `an unported file's run serves what a ported one has scheduled`(_ place: Place) throws {
    #expect(
      try lines("host", on: place) == ["descriptor", "perform", "perform from elsewhere", "source", "timer"])
  }

  @Test(arguments: Place.allCases)
  func `what Rondo serves ends Foundation's run, whether it came before or within that`(_ place: Place) throws {
    #expect(
      try lines("was-there", on: place) == [
        "a source: 1", "a timer: 1", "a block: 1", "a run of Rondo's: 4 timedOut", "a run of Foundation's: 4",
      ])
  }

  @Test(arguments: Place.allCases)
  func `a library on libevent is served in the runs of both`(_ place: Place) throws {
    #expect(
      try lines("library", on: place) == [
        "in a run of Foundation's", "in a run of Rondo's", "set in a timer of Foundation's", "serving",
      ])
  }

  @Test(arguments: Place.allCases)
  func `a foreign loop that is a guest is served in the runs of both`(_ place: Place) throws {
    #expect(
      try lines("guest", on: place) == [
        "a byte in a run of Foundation's", "a byte in a run of Rondo's",
        "a date in a run of Foundation's", "a date in a run of Rondo's",
        "a date that a timer of Foundation's has set",
        "a date that a timer of Rondo's has set, in a run of Foundation's",
        "early false serving",
      ])
  }

  @Test func `waiting for a process on a worker takes a few turns, not a processor`() throws {
    #expect(try lines("process", on: .worker) == ["returns few", "turns few"])
  }

  @Test func `a worker's run stays while a process runs, and no longer`() throws {
    #expect(try lines("keep-alive", on: .worker) == ["running false"])
  }

  @Test func `either loop's run ends when neither has anything`() throws {
    #expect(
      try lines("empty", on: .worker) == [
        "serving", "Foundation's timer", "Rondo's timer", "Rondo's timer, due before the run", "ended",
      ])
  }

  @Test(arguments: Place.allCases) func `neither loop starves the other`(_ place: Place) throws {
    #expect(
      try lines("busy", on: place) == [
        "Foundation's ticks 20", "Rondo's ticks while polled true", "Rondo's ticks beside a busy source true",
        "Rondo's ticks in its own run true",
      ])
  }

  @Test(arguments: Place.allCases)
  func `whoever stops either loop stops the run that stands there, and a request is kept for one of Rondo's`(
    _ place: Place
  ) throws {
    #expect(
      try lines("stop", on: place) == [
        "CFRunLoopStop in a timer: stopped", "CFRunLoopStop in a block: stopped", "stop in Foundation's timer: stopped",
        "stop from elsewhere: stopped", "a request from elsewhere: stopped", "a request before: stopped",
        "time: timedOut", "a request while Foundation's runs: fires 1 few turns", "and the run after it: stopped",
        "a stop while Foundation's runs: timedOut", "a request in a callout that runs Foundation's: few turns",
        "and the run around it: stopped",
      ])
  }

  @Test(arguments: Place.allCases) func `runs of both loops nest, in any mode`(_ place: Place) throws {
    #expect(
      try lines("nest", on: place) == [
        "1 Foundation's timer at depth 1", "2 Rondo's timer at depth 2", "3 Foundation's timer at depth 2",
        "4 Rondo's timer in another mode at depth 3", "5 back in Rondo's timer", "6 back in Foundation's timer",
        "7 stopped", "8 another mode: true",
      ])
  }

  @Test(arguments: Place.allCases)
  func `the bridge joins in the middle of Foundation's run, and leaves when it is told to`(_ place: Place) throws {
    #expect(
      try lines("come-and-go", on: place) == [
        "serving", "notNeeded", "ticks while it is not served: 0",
        "ticks while it is: true", "ticks after that: 0", "notNeeded",
      ])
  }

  @Test(arguments: Place.allCases)
  func `of what two threads send to both loops nothing is lost, and no wake`(_ place: Place) throws {
    #expect(try lines("flood", on: place) == ["ended 2"])
  }

  @Test func `threads with both loops come and go, and leave no descriptor`() throws {
    #expect(try lines("threads", on: .worker) == ["fires 404 left 0"])
  }

  @Test(arguments: Place.allCases)
  func `a loop that sleeps for both says so, is never early, and follows a new wait set`(_ place: Place) throws {
    #expect(
      try lines("sleep", on: place) == [
        "Rondo's run: waiting true depth 1", "Foundation's run: waiting true depth 0 notRunning", "precise true",
        "after a new wait set: stopped true",
      ])
  }

  @Test func `a busy loop does not enter Foundation's, and gives it all that other threads leave`()
    throws
  {
    #expect(
      try lines("quiet", on: .worker) == [
        "wakes 100 few entries true", "a sleep is heard of true",
        "turns 10000 few entries true block true", "a source from elsewhere true",
        "a block from elsewhere true", "a timer from elsewhere true", "a source from elsewhere, in a nested run true",
      ])
  }

  @Test(arguments: Place.allCases)
  func `Foundation's run sleeps in a mode that Rondo's loop has given back`(_ place: Place) throws {
    #expect(try lines("given-back", on: place) == ["known false turns few"])
  }

  @Test(arguments: Place.allCases)
  func `a forked child has loops of its own, and leaves its parent's alone`(_ place: Place) throws {
    let reason = "Foundation's loop may be that of the process that forked this one."
    #expect(
      try lines("fork", on: place).map { $0.replacing("\\'", with: "'") } == [
        "child unavailable(\"\(reason)\")", "child's fires 1", "parent serving status 0",
      ])
  }

  @Test func `a loop in virtual time has nothing to do with Foundation's`() {
    withFoundationStage { stage in
      #expect(stage.runLoop.foundationStatus == .unavailable("The loop waits in virtual time."))
    }
  }
}
