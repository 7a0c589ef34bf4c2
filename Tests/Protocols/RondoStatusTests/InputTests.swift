import Foundation
import Testing

/// The example `rondo-status` counts what comes by UDP, and its console tells it.
@Suite struct InputTests {
  @Test func `counts are added up by their names`() throws {
    let daemon = try status()
    let sender = try Sender(daemon)
    for text in ["orders 3", "orders", "visits 10\norders 4\n\nvisits 0", "a_name 1000000000", "orders  2 "] {
      sender.send(text.utf8)
    }
    sender.send("the_end".utf8)
    try wait("for the last datagram") { try daemon.sum("the_end") == 1 }
    #expect(try daemon.sum("orders") == 10)
    #expect(try daemon.sum("visits") == 10)
    #expect(try daemon.sum("a_name") == 1_000_000_000)
    #expect(try daemon.refused == 0)
  }

  private static let bad: [(what: String, line: [UInt8])] = [
    ("no number", Array("orders x".utf8)), ("half a number", Array("orders 1.5".utf8)),
    ("a huge number", Array("orders 99999999999999999999".utf8)), ("a large number", Array("orders 1000000001".utf8)),
    ("a negative number", Array("orders -1".utf8)), ("three words", Array("orders 1 2".utf8)),
    ("blanks", Array("  ".utf8)),
    ("a name in capitals", Array("Orders 1".utf8)), ("a name with a quote", Array("or\"ders 1".utf8)),
    ("a name with a tag", Array("<b> 1".utf8)), ("a name of 65 bytes", Array(repeating: 97, count: 65)),
    ("a name of 70 bytes", Array(repeating: 97, count: 70)),
    ("a name of 60,000 bytes", Array(repeating: 97, count: 60_000)),
    ("a zero byte", [97, 0]), ("what is no UTF-8", [0xFF, 0xFE, 0x80]), ("a carriage return", Array("orders 1\r".utf8)),
  ]

  @Test func `a line that says no count is refused, and counted as that`() throws {
    let daemon = try status()
    let sender = try Sender(daemon)
    sender.send([UInt8](repeating: 97, count: 64))
    for (number, (what, line)) in Self.bad.enumerated() {
      #expect(sender.send(line))
      try wait("for \(what) to be refused") { try daemon.refused == number + 1 }
    }
    // There is no line in these.
    for text in ["", "\n\n"] { #expect(sender.send(text.utf8)) }
    sender.send("orders 5\nbad!\n".utf8)
    try wait("for the last line") { try daemon.refused == Self.bad.count + 1 }
    #expect(try daemon.sum("orders") == 5)
    #expect(try Client(daemon, at: consolePort).say("counts", until: "names\n").hasSuffix("\norders 5\n2 names\n"))
  }

  @Test func `the 1,001st name is refused, and the others still count`() throws {
    let daemon = try status()
    let sender = try Sender(daemon)
    let letters = (UInt8(ascii: "a")...UInt8(ascii: "j")).map { String(UnicodeScalar($0)) }
    let names = letters.flatMap { first in letters.flatMap { second in letters.map { first + second + $0 } } }
    for start in stride(from: 0, to: 1_000, by: 50) {
      sender.send(names[start..<start + 50].joined(separator: "\n").utf8)
    }
    try wait("for the last name") { try daemon.sum("jjj") == 1 }
    #expect(try daemon.refused == 0)
    sender.send("one_more 1\naaa 6".utf8)
    try wait("for the first name") { try daemon.sum("aaa") == 7 }
    #expect(try daemon.refused == 1)
    #expect(try daemon.sum("one_more") == nil)
    // One that is forgotten makes room.
    #expect(try Client(daemon, at: consolePort).say("forget aaa") == "forgotten\n")
    sender.send("one_more 2".utf8)
    try wait("for one more") { try daemon.sum("one_more") == 2 }
  }

  @Test func `the console tells and forgets counts, and ends at quit`() throws {
    let daemon = try status()
    let sender = try Sender(daemon)
    sender.send("orders 3\nvisits 1".utf8)
    try wait("for the datagram") { try daemon.sum("visits") == 1 }
    let console = try Client(daemon, at: consolePort)
    let other = try Client(daemon, at: consolePort)
    #expect(try console.say("counts", until: "names\n") == "orders 3\nvisits 1\n2 names\n")
    #expect(try console.say("forget orders") == "forgotten\n")
    #expect(try other.say("forget orders") == "unknown\n")
    for line in ["help", "", "counts now", "forget", "forget a b"] {
      #expect(try console.say(line) == "counts, forget NAME, quit\n")
    }
    // Several lines at once.
    #expect(try console.say("counts\nnonsense\r", until: "quit\n") == "visits 1\n1 names\ncounts, forget NAME, quit\n")
    try console.send("quit\n".utf8)
    #expect(try console.receive(1) == [])
    #expect(try other.say("counts", until: "names\n") == "visits 1\n1 names\n")
  }

  @Test func `a line of 300 bytes ends the console's client, and no other`() throws {
    let daemon = try status()
    let (console, other) = (try Client(daemon, at: consolePort), try Client(daemon, at: consolePort))
    #expect(try console.say(String(repeating: "x", count: 250)) == "counts, forget NAME, quit\n")
    try console.send([UInt8](repeating: 120, count: 300))
    #expect(try console.receive(1) == [])
    #expect(try other.say("counts") == "0 names\n")
  }

  @Test func `the console has 16 clients at most, and the next one waits for a place`() throws {
    let daemon = try status()
    let consoles = try (1...16).map { _ in try Client(daemon, at: consolePort) }
    for console in consoles { #expect(try console.say("counts") == "0 names\n") }
    let waiting = try Client(daemon, at: consolePort)
    try waiting.send("counts\n".utf8)
    let full = try daemon.metrics().values.filter { $0.key.hasPrefix("rondo_server_connections{") && $0.value == 16 }
    #expect(full.count == 1)
    let server = try #require(full.keys.first?.dropFirst("rondo_server_connections{".count).dropLast())
    try daemon.waitForMetric("rondo_server_limits_total{\(server),limit=\"connections\"}") { $0 == 1 }
    #expect(try daemon.metrics().values["rondo_server_accepted_total{\(server)}"] == 16)
    try consoles[0].send("quit\n".utf8)
    #expect(try waiting.read(through: "\n") == "0 names\n")
  }
}
