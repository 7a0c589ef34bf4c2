import Glibc
import Logging
import Rondo
import RondoLog
import Synchronization
import Testing

@_silgen_name("fork") private func fork() -> pid_t

/// Lines that never hold up who writes them.
@Suite struct LogTests {
  /// A pipe, closed at the end of its test.
  private final class Pipe: Sendable {
    let reader: CInt
    let writer: CInt

    init(isBlocking: Bool = true) {
      var ends: [CInt] = [0, 0]
      precondition(Glibc.pipe(&ends) == 0)
      (reader, writer) = (ends[0], ends[1])
      if !isBlocking { _ = fcntl(writer, F_SETFL, O_NONBLOCK) }
      _ = fcntl(reader, F_SETFL, O_NONBLOCK)
    }

    deinit {
      close(reader)
      close(writer)
    }

    /// Whether it takes a page more.
    var hasRoom: Bool {
      var query = pollfd(fd: writer, events: Int16(POLLOUT), revents: 0)
      return poll(&query, 1, 0) == 1
    }

    /// What can be read at once.
    func take() -> String {
      var text: [UInt8] = []
      var room = [UInt8](repeating: 0, count: 65_536)
      while case let count = read(reader, &room, room.count), count > 0 { text += room.prefix(count) }
      return String(decoding: text, as: UTF8.self)
    }

    /// What is read until `isDone`.
    func take(until isDone: (String) -> Bool) -> String {
      var text = ""
      let end = SuspendingClock.now.advanced(by: .seconds(60))
      while !isDone(text), SuspendingClock.now < end {
        var query = pollfd(fd: reader, events: Int16(POLLIN), revents: 0)
        poll(&query, 1, 100)
        text += take()
      }
      return text
    }
  }

  @Test func `lines come in order, from any thread, and are there after a flush`() throws {
    let pipe = Pipe()
    let sink = try LogSink(descriptor: pipe.writer)
    for number in 0..<100 { sink.write("line \(number)\n") }
    flush(sink)
    #expect(pipe.take() == (0..<100).map { "line \($0)\n" }.joined())
    #expect(sink.droppedLineCount == 0)
  }

  /// In a function that is not async.
  private func flush(_ sink: LogSink) {
    #expect(sink.flush(timeout: .seconds(60)))
  }

  @Test(arguments: [true, false]) func `a reader that does not read costs lines, which are counted and told`(
    isBlocking: Bool
  ) throws {
    let pipe = Pipe(isBlocking: isBlocking)
    let sink = try LogSink(descriptor: pipe.writer, limit: 10_000)
    let line = String(repeating: "x", count: 99) + "\n"
    // More than the kernel's buffer and ours, however slowly the sink's thread fills the pipe.
    var written = 0
    while sink.droppedLineCount < 1_000 || pipe.hasRoom {
      sink.write(line)
      written += 1
    }
    // Into the pipe's last page a few more fit, and not these.
    for _ in 0..<100 { sink.write(line) }
    written += 100
    let dropped = sink.droppedLineCount
    #expect(!sink.flush(timeout: .milliseconds(10)))
    // No time is not time without a limit.
    #expect(!sink.flush(timeout: .milliseconds(-10)))
    let text = pipe.take { $0.contains("dropped") }
    flush(sink)
    let lines = (text + pipe.take()).split(separator: "\n")
    let told = lines.filter { $0.contains("were dropped") }.compactMap { Int($0.split(separator: " ")[1]) }
    #expect(told.reduce(0, +) == dropped)
    #expect(lines.count - told.count == written - dropped)
    #expect(lines.allSatisfy { $0.count == 99 || $0.hasPrefix("Rondo: ") })
  }

  @Test func `a reader that has gone is counted, and ends nobody`() async {
    await #expect(processExitsWith: .success) {
      var ends: [CInt] = [0, 0]
      precondition(Glibc.pipe(&ends) == 0)
      signal(SIGPIPE, SIG_DFL)
      close(ends[0])
      guard let sink = try? LogSink(descriptor: ends[1]) else { fatalError() }
      sink.write("one\ntwo\n")
      while sink.droppedLineCount < 2 { usleep(1_000) }
    }
  }

  @Test func `what is left is written when the process exits, and when the sink goes`() async throws {
    let result = try await #require(
      processExitsWith: .success, observing: [\.standardErrorContent]
    ) {
      guard let sink = try? LogSink() else { fatalError() }
      for number in 0..<1_000 { sink.write("exit \(number)\n") }
      exit(0)
    }
    let text = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(text.hasSuffix((0..<1_000).map { "exit \($0)\n" }.joined()))

    let pipe = Pipe()
    var sink: LogSink? = try LogSink(descriptor: pipe.writer)
    sink?.write("last words\n")
    sink = nil
    #expect(pipe.take { $0.hasSuffix("\n") } == "last words\n")
  }

  @Test func `a forked child exits without a word to its parent's sinks`() async {
    await #expect(processExitsWith: .success) {
      guard let sink = try? LogSink() else { fatalError() }
      let child = fork()
      if child == 0 { exit(0) }
      var status: CInt = 0
      precondition(waitpid(child, &status, 0) == child && status == 0)
      withExtendedLifetime(sink) {}
    }
  }

  @Test func `a line has its time, level, label, data and source, and no character that ends it`() throws {
    let pipe = Pipe()
    let sink = try LogSink(descriptor: pipe.writer)
    var logger = Logger(label: "test", factory: { LoopLogHandler(label: $0, to: sink) })
    logger[metadataKey: "one"] = "1"
    logger[metadataKey: "two"] = "2"
    logger.debug("not told")
    logger.info("hello\n\u{1b}[2Jthere", metadata: ["two": "b", "list": ["x"]])
    logger.logLevel = .trace
    var journal = Logger(label: "test", factory: { LoopLogHandler(label: $0, to: sink, style: .journal) })
    journal.logLevel = .trace
    for level in Logger.Level.allCases { journal.log(level: level, "l") }
    flush(sink)
    let lines = pipe.take().split(separator: "\n").map(String.init)
    #expect(lines.count == 1 + Logger.Level.allCases.count)
    let first = try #require(
      lines[0].wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z info test: (.*)/))
    #expect(first.1 == #"list=["x"] one=1 two=b [RondoServiceTests] hello\n\u{1b}[2Jthere"#)
    #expect(lines.dropFirst().map { $0.prefix(3) } == ["<7>", "<7>", "<6>", "<5>", "<4>", "<3>", "<2>"])
    #expect(lines[1] == "<7>test: [RondoServiceTests] l")
  }

  @Test func `no text, label or data ends a line, commands a terminal or turns the text around`() throws {
    let pipe = Pipe()
    let sink = try LogSink(descriptor: pipe.writer)
    let bad = [
      "\u{85}", "\u{9b}", "\u{2028}", "\u{2029}", "\u{202e}", "\u{2066}", "\u{feff}", "\u{7f}", "\r", "\u{1b}",
    ]
    for text in bad {
      var logger = Logger(label: "l\(text)l", factory: { LoopLogHandler(label: $0, to: sink, style: .journal) })
      logger[metadataKey: "k\(text)k"] = "v\(text)v"
      logger.info("m\(text)m")
    }
    Logger(label: "l", factory: { LoopLogHandler(label: $0, to: sink, style: .journal) }).info(
      "ä 👩\u{200d}🔬 می\u{200c}خواهم")
    flush(sink)
    let lines = pipe.take().split(separator: "\n").map(String.init)
    let wanted = bad.map { text in
      let mark = #"\u{"# + String(text.unicodeScalars.first!.value, radix: 16) + "}"
      return "<6>l\(mark)l: k\(mark)k=v\(mark)v [RondoServiceTests] m\(mark)m"
    }
    #expect(lines == wanted + ["<6>l: [RondoServiceTests] ä 👩\u{200d}🔬 می\u{200c}خواهم"])
  }

  @Test func `threads that write at the same time keep their lines whole`() async throws {
    let pipe = Pipe()
    let sink = try LogSink(descriptor: pipe.writer)
    let logger = Logger(label: "many", factory: { LoopLogHandler(label: $0, to: sink, style: .journal) })
    let reader = Task.detached { pipe.take { $0.split(separator: "\n").count == 4_000 } }
    await withTaskGroup { group in
      for number in 0..<4 {
        group.addTask { for step in 0..<1_000 { logger.info("\(number) \(step)") } }
      }
    }
    let lines = await reader.value.split(separator: "\n")
    for number in 0..<4 {
      let own = lines.filter { $0.contains("] \(number) ") }
      #expect(own.map { $0.split(separator: " ").last! } == (0..<1_000).map { "\($0)" })
    }
  }
}
