import RondoFoundation
import RondoTestSupport
import Testing

/// Whichever door somebody leaves something by, it is served where nothing but Foundation's loop runs.
@Suite(.offThePool) struct DoorTests {
  static let doorsToMain = [
    "main-timer", "main-item", "main-port", "main-socket-port", "main-message-port", "main-perform",
    "main-perform-in-modes", "main-request", "main-delayed-request", "main-of-an-object", "main-loop", "main-thread",
  ]
  static let doorsToCurrent = [
    "thread", "object-on-thread", "object-after-delay", "of", "current", "scheduled-timer", "scheduled-target",
    "notification-queue", "notification-queue-of-ones-own",
  ]

  @Test(arguments: doorsToMain + doorsToCurrent)
  func `a door alone has Foundation's loop serve the main thread's`(_ door: String) throws {
    #expect(try lines(of: "foundation-probe", ["door", door, "main"]) == ["served", ""])
  }

  @Test(arguments: doorsToCurrent)
  func `a door alone has Foundation's loop serve a worker's`(_ door: String) throws {
    #expect(try lines(of: "foundation-probe", ["door", door, "worker"]) == ["served", ""])
  }

  @Test(arguments: ["main-timer", "main-item", "main-port", "main-perform", "main-request", "main-of-an-object"])
  func `a worker's door has the main thread's loop of Foundation's serve the other`(_ door: String) throws {
    #expect(try lines(of: "foundation-probe", ["door-elsewhere", door, "main"]) == ["served", ""])
  }

  @Test func `a run loop that was kept from before there was one of Foundation's is served by that`() throws {
    #expect(try lines(of: "foundation-probe", ["door-kept", "main"]) == ["served", ""])
  }

  @Test func `so is what others leave in it, though nobody has asked for Foundation's before it ran`() throws {
    #expect(try lines(of: "foundation-probe", ["door-kept-elsewhere", "main"]) == ["served", ""])
  }

  @Test func `a request that runs a mode serves Foundation's loop in it`() throws {
    #expect(try lines(of: "foundation-probe", ["door-request", "main"]) == ["answered", ""])
  }

  @Test(arguments: BridgeTests.Place.allCases)
  func `a timer fires while its thread waits for a process, which makes Foundation's loop`(
    _ place: BridgeTests.Place
  ) throws {
    #expect(try lines(of: "foundation-probe", ["wait-process", "\(place)"]) == ["fires 10", ""])
  }

  @Test(arguments: BridgeTests.Place.allCases)
  func `so does one while a run of Foundation's makes that loop`(_ place: BridgeTests.Place) throws {
    #expect(try lines(of: "foundation-probe", ["wait-run", "\(place)"]) == ["fires 10", ""])
  }

  @Test func `so does one that a worker has added to the main run loop, which nobody else has asked for`() throws {
    #expect(try lines(of: "foundation-probe", ["wait-elsewhere", "main"]) == ["fires 10", ""])
  }

  @Test(arguments: ["own", "ported"])
  func `the main thread sleeps for Foundation's loop before a worker asks for that`(_ door: String) throws {
    #expect(try lines(of: "foundation-probe", ["wake-sleeper", door, "main"]) == ["performed", ""])
  }

  @Test(arguments: BridgeTests.Place.allCases)
  func `the main thread takes the descriptors that there are, and a worker leaves half of them`(
    _ place: BridgeTests.Place
  ) throws {
    let refusal = "unavailable(\"Too few descriptors are left.\")"
    #expect(
      try lines(of: "foundation-probe", ["half-of-descriptors", "\(place)"])
        == [place == .main ? "serving" : refusal, ""])
  }

  @Test func `a thread that asks for its run loop while it dies gets no second loop of Foundation's`() throws {
    #expect(try lines(of: "foundation-probe", ["dying", "main"]) == ["1 serving", "2 serving", "3 notNeeded", ""])
  }

  @Test(arguments: BridgeTests.Place.allCases)
  func `without descriptors for Foundation's loop Rondo's goes on alone, until there are some`(
    _ place: BridgeTests.Place
  ) throws {
    let refusal = "unavailable(\"Too few descriptors are left.\")"
    #expect(
      try lines(of: "foundation-probe", ["no-descriptors", "\(place)"]) == ["fires 10 \(refusal) serving", ""])
  }
}
