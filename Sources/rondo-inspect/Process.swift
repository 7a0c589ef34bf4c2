import CRondoInspect
import FoundationEssentials
import Glibc

/// The process that is asked.
enum Process {
  enum Problem: Error, CustomStringConvertible {
    case notFound(String, open: [(number: pid_t, name: String)])
    case ambiguous(String, [pid_t])
    case closed(pid_t)
    case otherUser(pid_t)
    case failed(pid_t, errno: CInt)
    case noAnswer(pid_t)
    case stopped(pid_t)
    case tooMuch(pid_t)

    var description: String {
      switch self {
      case .notFound(let name, let open):
        let known = open.map { "\($0.number) \($0.name)" }.joined(separator: ", ")
        return "no process \"\(name)\" can be asked. " + (open.isEmpty ? "None can." : "These can: \(known).")
      case .ambiguous(let name, let numbers):
        return
          "several processes are called \"\(name)\": \(numbers.map(String.init).joined(separator: ", ")). Give a number."
      case .closed(let number):
        return
          "process \(number) cannot be asked: it calls no Inspector.open(), and was not started with RONDO_INSPECT=socket."
      case .otherUser(let number): return "process \(number) is another user's, or another one has its socket."
      case .failed(let number, let error): return "process \(number): \(unsafe String(cString: strerror(error)))"
      case .noAnswer(let number): return "process \(number) has too much to answer at present, or no answer to that."
      case .stopped(let number): return "process \(number) is stopped, by a signal or a debugger, and does not answer."
      case .tooMuch(let number): return "process \(number) answers without an end."
      }
    }
  }

  /// The number of a process by number or name.
  static func find(_ target: String) throws(Problem) -> pid_t {
    if let number = pid_t(target), number > 0 { return number }
    let open = openProcesses
    let found = open.filter { $0.name == target }
    guard let first = found.first else { throw .notFound(target, open: open) }
    if found.count > 1 { throw .ambiguous(target, found.map { $0.number }) }
    return first.number
  }

  /// The processes of this user that have a socket, with their names: proc(5).
  private static var openProcesses: [(number: pid_t, name: String)] {
    var room = [pid_t](repeating: 0, count: 4_096)
    let count = unsafe rondo_door_list(&room, room.count)
    let numbers = Set(room.prefix(count))
    return numbers.sorted().compactMap { number in
      guard let name = Self.text("/proc/\(number)/comm", limit: 64)?.split(separator: "\n").first.map(String.init)
      else { return nil }
      let program = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(number)/exe")) ?? name
      // The kernel keeps 15 bytes of a name.
      return (number, String(program.split(separator: "/").last ?? ""))
    }
  }

  private static func text(_ path: String, limit: Int) -> String? {
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
      unsafe count = max(0, rondo_read_file(path, buffer.baseAddress!, limit))
    }
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }

  /// After so much silence it is asked whether the process is stopped.
  private static let silence: CInt = 5_000
  /// For the next part of an answer.
  private static let patience = Duration.seconds(75)
  /// For the longest trace, and for its way.
  private static let longestAnswer = Duration.seconds(150)
  private static let answerLimit = 256 << 20

  /// Whether a process is stopped, by a signal or by what traces it: proc_pid_stat(5).
  private static func isStopped(_ number: pid_t) -> Bool {
    // The state stands behind the name, which may have anything in it.
    let fields = text("/proc/\(number)/stat", limit: 512)?.split(separator: ")").last
    return fields.map { $0.hasPrefix(" T") || $0.hasPrefix(" t") } ?? false
  }

  /// Waits for a part of an answer.
  private static func waitForAnswer(from number: pid_t, by socket: CInt) throws(Problem) {
    let end = ContinuousClock.now + patience
    while rondo_door_await(socket, silence) == 0 {
      if isStopped(number) { throw .stopped(number) }
      if ContinuousClock.now >= end { throw .noAnswer(number) }
    }
  }

  /// Asks, and waits for the whole answer.
  static func ask(_ number: pid_t, _ question: String) throws(Problem) -> [UInt8] {
    let socket = rondo_door_knock(number)
    if socket == -ECONNREFUSED || socket == -ENOENT { throw .closed(number) }
    if socket == -EPERM { throw .otherUser(number) }
    if socket == -EAGAIN { throw isStopped(number) ? .stopped(number) : .noAnswer(number) }
    guard socket >= 0 else { throw .failed(number, errno: -socket) }
    defer { close(socket) }
    let line = Array((question + "\n").utf8)
    guard unsafe rondo_door_send(socket, line, line.count) == line.count else { throw .noAnswer(number) }
    var answer: [UInt8] = []
    let end = ContinuousClock.now + longestAnswer
    var part = [UInt8](repeating: 0, count: 65_536)
    while true {
      try waitForAnswer(from: number, by: socket)
      let count = unsafe read(socket, &part, part.count)
      if count < 0 && errno == EINTR { continue }
      if count < 0 && errno != ECONNRESET { throw .failed(number, errno: errno) }
      if count <= 0 { break }
      answer += part.prefix(count)
      // The process may be anything by now: it has neither our memory nor our time for itself.
      guard answer.count <= answerLimit, ContinuousClock.now < end else { throw .tooMuch(number) }
    }
    if answer.isEmpty { throw .noAnswer(number) }
    return answer
  }
}
