import Foundation
import RondoSockets
import Testing

/// The example `rondo-status`, replaced by its successors. Each test is a process of its own, whose children they become.
@Suite(.serialized) struct SuccessorTests {
  @Test func `200 clients see no gap in ten restarts, of which five fail`() async {
    await #expect(processExitsWith: .success) { try Succession.gap() }
  }

  @Test func `clients of the console get their answers until the old process drains, and then the end`() async {
    await #expect(processExitsWith: .success) { try Succession.dialogues() }
  }

  @Test func `who waits for a place at the console gets one of the successor's`() async {
    await #expect(processExitsWith: .success) { try Succession.places() }
  }

  @Test func `of the datagrams that come in three restarts, each is counted by one process`() async {
    await #expect(processExitsWith: .success) { try Succession.datagrams() }
  }

  @Test func `a successor with another address takes that, and the old ports close`() async {
    await #expect(processExitsWith: .success) { try Succession.address() }
  }

  @Test func `two signals in a row start one successor`() async {
    await #expect(processExitsWith: .success) { try Succession.twice() }
  }

  @Test func `SIGTERM while a successor starts ends both`() async {
    await #expect(processExitsWith: .success) { try Succession.stopped() }
  }
}

private enum Succession {
  /// Successors that take no place.
  private static let failures = [
    "exits": "exit 3",
    "killed": "kill -KILL $$",
    // The program itself has the sockets of the pages then, and finds the console's place taken.
    "ends": #"export LISTEN_FDNAMES="pages:$(echo "$LISTEN_FDNAMES" | tr a-z x)"; exec "$PROGRAM" "$@""#,
  ]

  static func gap() throws {
    let lineage = try Lineage(Self.failures)
    let address = try lineage.daemon.place()
    let crowd = try Crowd(200) { crowd, loop in try await crowd.askForPage(of: address, on: loop) }
    var processes = [lineage.process]
    // What only the present process has counted.
    var mark = "process_a"
    for (number, failure) in ["exits", "killed", "ends", "exits", "killed"].enumerated() {
      try Sender(lineage.daemon).send(mark.utf8)
      try crowd.wait(toSee: mark)
      let reason = try lineage.fail(by: failure)
      let expected = ["exits": "exited with 3", "killed": "killed by signal 9", "ends": "exited with 1"][failure]!
      #expect(reason == "it ended before it took over: \(expected).")
      lineage.begin()
      try lineage.finish()
      processes.append(lineage.process)
      mark = "process_" + String(UnicodeScalar(UInt8(ascii: "b") + UInt8(number)))
    }
    try Sender(lineage.daemon).send(mark.utf8)
    try crowd.wait(toSee: mark)
    let (answers, faults) = try crowd.end()
    #expect(faults == [])
    #expect(answers > 200)
    #expect(Set(processes).count == 6)
    #expect(lineage.errors.count == 5)
  }

  static func dialogues() throws {
    let lineage = try Lineage(Self.failures)
    let address = try lineage.daemon.place(at: consolePort)
    let crowd = try Crowd(8) { crowd, loop in try await crowd.talk(to: address, on: loop) }
    for mark in ["process_a", "process_b", "process_c", "process_d"] {
      try Sender(lineage.daemon).send(mark.utf8)
      try crowd.wait(toSee: mark)
      _ = try lineage.fail(by: "ends")
      lineage.begin()
      try lineage.finish()
    }
    #expect(try crowd.end().faults == [])
  }

  static func places() throws {
    let lineage = try Lineage()
    let consoles = try (1...16).map { _ in try Client(lineage.daemon, at: consolePort) }
    for console in consoles { #expect(try console.say("counts") == "0 names\n") }
    let waiting = try Client(lineage.daemon, at: consolePort)
    try waiting.send("counts\n".utf8)
    lineage.begin()
    #expect(try waiting.read(through: "\n") == "0 names\n")
    for console in consoles { #expect(try console.receive(1) == []) }
    try lineage.finish()
  }

  static func datagrams() throws {
    let lineage = try Lineage()
    let queue = KernelQueue(lineage.daemon)
    let sender = try Sender(lineage.daemon)
    let flood = Flood(of: sender, into: queue)
    var counted = 0
    for _ in 1...3 {
      let console = try Client(lineage.daemon, at: consolePort)
      #expect(try console.say("counts", until: "names\n").hasSuffix("names\n"))
      // A request that has begun is answered when the input is closed: with the last sum.
      let client = try Client(lineage.daemon)
      #expect(try client.isAnswered())
      try client.send(get("/metrics").dropLast(2))
      lineage.begin()
      #expect(try console.receive(1) == [])
      let values = try Metrics(client.ask(Array("\r\n".utf8)).body).values
      counted += Int(values[#"status_count_total{name="orders"}"#] ?? 0)
      #expect(values["rondo_server_draining{server=\"\(lineage.daemon.name)\"}"] == 1)
      try lineage.finish()
    }
    let sent = try flood.end()
    sender.send("the_end".utf8)
    try wait("for the last datagram") { try lineage.daemon.sum("the_end") == 1 }
    try #expect(counted > 0 && counted + (lineage.daemon.sum("orders") ?? 0) == sent)
    #expect(queue.state?.drops == 0)
  }

  static func address() throws {
    let name = "otherwise"
    let lineage = try Lineage([name: "exec \"$PROGRAM\" \"${1%:*}:$((${1##*:} + 4))\""])
    let daemon = lineage.daemon
    let (sender, other) = (try Sender(daemon), try Sender(daemon, at: 4 + inputPort))
    try lineage.point(to: name)
    lineage.begin()
    try lineage.finish()
    #expect(try Client(daemon, at: 4).isAnswered())
    #expect(try Client(daemon, at: 4 + consolePort).say("counts") == "0 names\n")
    other.send("orders 3".utf8)
    let client = try Client(daemon, at: 4)
    try wait("for the datagram") { try client.ask(get("/")).body.contains("orders") }
    for distance in [0, consolePort] {
      let place = try daemon.place(at: distance)
      #expect(throws: SocketError.refused(place)) {
        try Socket(family: place.family, .stream).connect(to: place, timeout: .seconds(120))
      }
    }
    // The first one finds no socket, and the next one is told.
    #expect(sender.send("orders 3".utf8) && !sender.send("orders 3".utf8))
  }

  static func twice() throws {
    let lineage = try Lineage(["counted": "echo $$ >>started; exec \"$PROGRAM\" \"$@\""])
    try lineage.point(to: "counted")
    lineage.begin()
    lineage.begin()
    try lineage.finish()
    #expect(lineage.text(of: "started") == "\(lineage.process)\n")
    #expect(try Client(lineage.daemon).isAnswered())
    #expect(lineage.errors == [])
  }

  static func stopped() throws {
    // It never becomes the program.
    let lineage = try Lineage(["slow": "echo $$ >started; exec sleep 1000"])
    try lineage.point(to: "slow")
    lineage.begin()
    try wait("for the successor to start") { lineage.text(of: "started").hasSuffix("\n") }
    let successor = try #require(pid_t(lineage.text(of: "started").dropLast()))
    #expect(try lineage.daemon.terminate() == 0)
    try wait("for the successor to end") { lineage.hasEnded(successor) }
    #expect(lineage.errors == [])
  }
}
