import Glibc
import RondoTestSupport
import Testing

@testable import RondoDaemon

/// Programs that stop by signals, started as users start them.
@Suite(.offThePool) struct WrapperTests {
  static let kinds = ["daemon", "task"]

  @Test(arguments: kinds) func `nohup has a program survive the terminal's end`(_ kind: String) throws {
    let run = try Run("nohup", [Run.probe, "stopping", kind])
    let ignored = run.ignoredSignals
    #expect(ignored.contains(SIGHUP) && !ignored.contains(SIGINT))
    kill(run.process, SIGHUP)
    kill(run.process, SIGTERM)
    let (lines, end) = run.end()
    #expect(lines == ["stop", kind == "task" ? "signal 15" : "drained"] && end == .exit(0))
  }

  @Test(arguments: kinds) func `in the background of a shell, the terminal's keys are for others`(_ kind: String) throws
  {
    let run = try Run("/bin/sh", ["-c", "\"$0\" \"$@\" & wait", Run.probe, "stopping", kind])
    let ignored = run.ignoredSignals
    #expect(ignored.contains(SIGINT) && !ignored.contains(SIGHUP))
    kill(run.process, SIGINT)
    kill(run.process, SIGTERM)
    let (lines, end) = run.end()
    #expect(lines == ["stop", kind == "task" ? "signal 15" : "drained"] && end == .exit(0))
  }

  @Test(arguments: kinds) func `a signal that timeout passes on twice is one stop`(_ kind: String) throws {
    let (lines, end) = try attempt(["600", Run.probe, "stopping", kind], of: "timeout") { run in
      // It passes the signal on to its child, and to its group.
      kill(run.child, SIGTERM)
    }
    #expect(lines == ["stop", kind == "task" ? "signal 15" : "drained"] && end == .exit(0))
  }

  @Test(arguments: kinds) func `a key that npm passes on to who has heard it is one stop`(_ kind: String) throws {
    let (lines, end) = try attempt(["stopping", kind], of: Run.probe) { run in
      kill(run.process, SIGINT)
      usleep(700)
      kill(run.process, SIGINT)
    }
    #expect(lines == ["stop", kind == "task" ? "signal 2" : "drained"] && end == .exit(0))
  }

  /// How a program ends that gets signals at one time. Where the machine stalls between them, it is asked again.
  private func attempt(
    _ arguments: [String], of program: String, _ signal: (Run) -> Void
  ) throws -> (lines: [String], end: End) {
    while true {
      let run = try Run(program, arguments)
      let begin = SuspendingClock.now
      signal(run)
      let result = run.end()
      if SuspendingClock.now - begin < .milliseconds(500) || result.end == .exit(0) { return result }
    }
  }
}

/// A process that has said that it is ready.
private final class Run {
  /// What was started, and the probe: one and the same, or its child.
  let child: CInt
  private(set) var process: CInt = 0
  private let output: CInt

  /// It is built beside the tests.
  static let probe: String = {
    var name = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe name.withUnsafeMutableBytes { room in
      unsafe readlink("/proc/self/exe", room.baseAddress!.assumingMemoryBound(to: CChar.self), room.count)
    }
    let path = String(decoding: name.prefix(max(0, count)), as: UTF8.self)
    return path[..<path.lastIndex(of: "/")!] + "/rondo-probe"
  }()

  init(_ program: String, _ arguments: [String]) throws {
    var ends: [CInt] = [0, 0]
    try #require(unsafe pipe2(&ends) == 0)
    output = ends[0]
    defer { close(ends[1]) }
    var command = ChildSource.Command(program, arguments)
    command.input = .null
    command.output = .descriptor(ends[1])
    command.error = .null
    child = try command.spawn()
    process = try #require(CInt(nextLine().split(separator: " ").last ?? ""))
  }

  private func nextLine() -> String {
    var line: [UInt8] = []
    var byte: UInt8 = 0
    while unsafe read(output, &byte, 1) == 1, byte != 10 { line.append(byte) }
    return String(decoding: line, as: UTF8.self)
  }

  /// The lines to its end, and what has started it has ended with.
  func end() -> (lines: [String], end: End) {
    var lines: [String] = []
    while case let line = nextLine(), !line.isEmpty { lines.append(line) }
    close(output)
    return (lines, RondoTestSupport.end(of: child))
  }

  /// What the probe ignores: SigIgn of proc(5).
  var ignoredSignals: [CInt] {
    let file = unsafe fopen("/proc/\(process)/status", "r")!
    defer { unsafe fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    while unsafe fgets(&line, 256, file) != nil {
      let text = String(decoding: line.prefix { $0 > 31 || $0 == 9 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
      guard text.hasPrefix("SigIgn:"), let mask = UInt64(text.dropFirst(8), radix: 16) else { continue }
      return (1...64).filter { mask >> UInt64($0 - 1) & 1 == 1 }
    }
    return []
  }
}
