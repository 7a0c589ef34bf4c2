import Glibc
import Rondo
import RondoDaemon
import RondoSockets
import RondoTesting
import Testing

/// The example `rondo-chat`, as a process.
@Suite struct ChatTests {
  @Test func `what one says the others read, under the names they chose`() throws {
    try withServer { chat, name, stage in
      let anna = try Guest(at: name)
      #expect(try anna.read(until: "/quit\n").hasPrefix("* Welcome, guest-1."))
      let bert = try Guest(at: name)
      try bert.say("/name Bert\n/name Bert\n/name guest-9\n/who\n")
      #expect(
        try bert.read(until: "guest-1, Bert\n").hasSuffix(
          "* guest-2 is Bert now\n* Bert is taken\n* guest-9 is taken\n* guest-1, Bert\n"))
      #expect(try anna.read(until: "now\n") == "* guest-2 has come\n* guest-2 is Bert now\n")
      // A line in pieces, two in one, and none.
      for piece in ["Hel", "lo\u{7}!\r\nSecond\n\nTh", "ird\n", "/nonsense\n"] { try bert.say(piece) }
      #expect(try anna.read(until: "Third\n") == "Bert: Hello!\nBert: Second\nBert: Third\n")
      #expect(try bert.read(until: "/quit\n") == "* /name NAME, /who, /quit\n")
      try anna.say("/quit\n")
      #expect(try anna.readToEnd() == "" && bert.read(until: "gone\n") == "* guest-1 has gone\n")
      // Too long a line, without an end.
      try bert.say(String(repeating: "x", count: 5_000))
      _ = try bert.readToEnd()
      try chat.send(SIGTERM)
      stage.run { !chat.isValid }
      #expect(stage.text == "exited with 0")
    }
  }

  @Test func `the file of its socket goes with it`() throws {
    let path = "/tmp/\(uniqueName("chat"))"
    try onLoopThread { stage in
      var command = ChildSource.Command(try program("rondo-chat"), ["--listen", path, "--grace", "0.05"])
      command.output = .null
      command.error = .null
      let chat = try ChildSource(spawning: command) { _, exit in stage.note("\(exit)") }
      stage.loop.add(chat)
      defer { try? chat.send(SIGKILL) }
      let end = SuspendingClock.now.advanced(by: .seconds(240))
      while unsafe chat.isValid && access(path, F_OK) != 0 && SuspendingClock.now < end {
        stage.loop.run(for: .milliseconds(5))
      }
      try chat.send(SIGTERM)
      stage.run { !chat.isValid }
      #expect(stage.text == "exited with 0")
      #expect(unsafe access(path, F_OK) == -1 && errno == ENOENT)
    }
  }

  @Test func `who does not read is dropped, and keeps neither the others nor the end waiting`() throws {
    try withServer { chat, name, stage in
      let deaf = try Guest(at: name)
      let anna = try Guest(at: name)
      let bert = try Guest(at: name)
      _ = try anna.read(until: "guest-3 has come\n")
      let line = String(repeating: "y", count: 4_000)
      var heard = ""
      while !heard.contains("* guest-1 does not listen, and has been dropped\n") {
        try bert.say(line + "\n")
        heard = try anna.read(until: "\n")
        #expect(heard == "guest-3: \(line)\n" || heard.hasPrefix("* guest-1 "))
      }
      // Another one, which has something waiting when the end comes.
      let deafToo = try Guest(at: name)
      for _ in 0..<20 { try bert.say(line + "\n") }
      try chat.send(SIGTERM)
      stage.run { !chat.isValid }
      #expect(stage.text == "exited with 0")
      #expect(try anna.readToEnd().hasSuffix("* The server ends\n"))
      withExtendedLifetime((deaf, deafToo)) {}
    }
  }

  /// Runs a server at an abstract name for as long as `body`.
  private func withServer(_ body: @escaping @Sendable (ChildSource, String, Stage) throws -> Void) throws {
    let name = uniqueName("chat")
    try onLoopThread { stage in
      var command = ChildSource.Command(try program("rondo-chat"), ["--listen", "@\(name)", "--grace", "0.05"])
      command.output = .null
      command.error = .null
      let chat = try ChildSource(spawning: command) { _, exit in stage.note("\(exit)") }
      stage.loop.add(chat)
      defer { try? chat.send(SIGKILL) }
      try body(chat, name, stage)
    }
  }
}

/// A client in the room.
private final class Guest {
  private let socket: Socket
  private var received: [UInt8] = []

  init(at name: String) throws {
    socket = try connectOnceItListens(to: name)
  }

  func say(_ text: String) throws { try socket.send(Array(text.utf8), timeout: .seconds(120)) }

  /// What came up to the next such text.
  func read(until end: String) throws -> String {
    let end = Array(end.utf8)
    while true {
      if received.count >= end.count {
        for start in 0...(received.count - end.count) where received[start..<(start + end.count)].elementsEqual(end) {
          defer { received.removeFirst(start + end.count) }
          return String(decoding: received[..<(start + end.count)], as: UTF8.self)
        }
      }
      guard case .bytes(let bytes) = try receive() else {
        throw Missing(text: String(decoding: received, as: UTF8.self))
      }
      received += bytes
    }
  }

  /// What came up to the end.
  func readToEnd() throws -> String {
    while case .bytes(let bytes) = try receive() { received += bytes }
    return String(decoding: received, as: UTF8.self)
  }

  private func receive() throws -> Socket.Received {
    while true {
      var query = pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)
      guard unsafe poll(&query, 1, 120_000) == 1 else { throw SocketError.timedOut }
      do throws(SocketError) {
        let received = try socket.receive()
        if received != .nothing { return received }
      } catch {
        // This client was dropped with something unread.
        guard error == .reset else { throw error }
        return .end
      }
    }
  }

  /// What came instead.
  struct Missing: Error {
    let text: String
  }
}
