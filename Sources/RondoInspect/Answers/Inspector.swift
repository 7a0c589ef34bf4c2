internal import CLinux
internal import CRondoInspect
import Glibc
public import Rondo
import Synchronization

/// Opens this process to the command `rondo-inspect`, run by the same user.
///
/// The environment variable `RONDO_INSPECT` applies to every loop that is made. Its word `socket` opens the process,
/// `measure` also measures the loops, and `stalls=250` reports stalls of more than 250 ms on stderr. Separate several
/// words with commas. A program with more rights than its caller ignores the variable. See secure_getenv(3).
public enum Inspector {
  private static let responder = PerProcess<Responder?>(nil)

  /// Opens the socket, if it is not open. Any thread.
  ///
  /// `rondo-inspect` then shows every loop that is made from now on. It also shows earlier loops that a monitor watches
  /// or whose ``Rondo/Loop/insight`` was read, and every server of `Listener.serve`.
  ///
  /// - Throws: `OpenError` if there is no socket or no thread for it.
  public static func open() throws(OpenError) {
    LoopCreationHook.set(attend)
    try openOnce()
  }

  private static func openOnce() throws(OpenError) {
    let watcher: Watcher
    do { watcher = try Watcher.shared() } catch { throw .noThread(error) }
    try responder.withLock { (responder) throws(OpenError) in
      if responder == nil { responder = try Responder(by: watcher) }
    }
  }

  /// Closes the socket. Any thread.
  public static func close() {
    let responder = responder.withLock { $0.take() }
    responder?.end()
  }

  /// The reason why the socket cannot open.
  public enum OpenError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The watcher's thread could not start.
    case noThread(LoopThread.StartError)
    /// The socket could not be opened, for this errno.
    ///
    /// Either no directory is private to the user, or no descriptor is left.
    case noSocket(errno: CInt)

    /// A sentence with the cause.
    public var description: String {
      switch self {
      case .noThread(let error): "rondo-inspect needs a thread: \(error)"
      case .noSocket(let errno):
        "rondo-inspect's socket could not be opened: \(unsafe String(cString: strerror(errno)))"
      }
    }
  }

  /// Returns the counts of loops and of all servers in Prometheus's text form. Any thread.
  ///
  /// It is for the `/metrics` of a program. Times are in seconds. A server is one call of `Listener.serve` under way, by
  /// the address of its listener. A loop without a record begins one; see ``Rondo/Loop/insight``.
  ///
  /// - Parameter loops: Whose counters and measures to return. The servers are all of the process.
  public static func prometheusText(of loops: [Loop]) -> String {
    Prometheus.text(loops.map { ($0, $0.insight.recorder) })
  }

  // MARK: - The environment

  /// What the environment asks for, once there is a loop.
  private struct Wishes: Sendable {
    var opens = false
    var measures = false
    var stallLimit: Duration?
  }

  /// *constant* once set, before main. A forked child has them, too.
  nonisolated(unsafe) private static var wishes: Wishes?
  private static let monitor = PerProcess<StallMonitor?>(nil)
  private static let hasComplained = PerProcess(false)

  /// Before main: no loop is made, and no thread.
  static func readEnvironment() {
    guard let text = unsafe rondo_environment("RONDO_INSPECT").map({ unsafe String(cString: $0) }) else { return }
    guard let found = wishes(in: text) else {
      return ErrorOutput.write("rondo: RONDO_INSPECT=\(text) is none of socket, measure and stalls=MILLISECONDS.\n")
    }
    unsafe wishes = found
    LoopCreationHook.set(attend)
  }

  private static func wishes(in text: String) -> Wishes? {
    var found = Wishes()
    for word in text.split(separator: ",") {
      switch word {
      case "socket", "1": found.opens = true
      case "measure": (found.opens, found.measures) = (true, true)
      case _ where word.hasPrefix("stalls="):
        guard let limit = Int(word.dropFirst(7)), 1...3_600_000 ~= limit else { return nil }
        found.stallLimit = .milliseconds(limit)
      default: return nil
      }
    }
    return found
  }

  /// A loop has been made.
  @Sendable private static func attend(_ loop: Loop) {
    // The watcher's own loop is not watched.
    let insight = loop.insight
    guard let wishes = unsafe wishes else { return }
    if wishes.measures { insight.measure() }
    do {
      if wishes.opens { try openOnce() }
      if let limit = wishes.stallLimit { try monitor(limit).watch(loop) }
    } catch {
      complain("\(error)")
    }
  }

  /// Says on stderr why a wish of the environment is not granted: once in a process, for each loop may meet the cause.
  static func complain(_ text: String) {
    let isFirst = hasComplained.withLock { hasComplained in
      defer { hasComplained = true }
      return !hasComplained
    }
    if isFirst { ErrorOutput.write("rondo: \(text)\n") }
  }

  private static func monitor(_ limit: Duration) throws(LoopThread.StartError) -> StallMonitor {
    try monitor.withLock { (monitor) throws(LoopThread.StartError) in
      if let monitor { return monitor }
      let made = try StallMonitor(limit: limit)
      monitor = made
      return made
    }
  }
}

/// Answers the questions that come to the process's door.
@safe final class Responder: @unchecked Sendable {
  /// *constant* The socket's file.
  let path: String
  private let watcher: Watcher
  /// *watcher's thread*
  private var door: Door?

  init(by watcher: Watcher) throws(Inspector.OpenError) {
    self.watcher = watcher
    // The file is made here, where the caller can be told, and belongs to the user of this moment.
    let user = geteuid()
    var room = [CChar](repeating: 0, count: 4_096)
    let socket = unsafe rondo_door_open(getpid(), &room, room.count)
    guard socket >= 0 else { throw .noSocket(errno: -socket) }
    path = String(decoding: room.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    watcher.perform { [self] in
      door = Door(socket: socket, user: user) { [self] question, reply in answer(question, reply) }
    }
  }

  func end() {
    unsafe unlink(path)
    watcher.perform { [self] in
      door?.end()
      door = nil
    }
  }

  private func answer(_ question: Question, _ reply: @escaping @Sendable (String) -> Void) -> (() -> Void)? {
    let loops = Recorders.all
    switch question {
    case .report:
      Inquiry { reply(Report.json(loops, $0).text + "\n") }.begin(loops, by: watcher)
    case .stack: reply(Self.stacks(loops).text + "\n")
    case .prometheus: reply(Prometheus.text(loops))
    case .trace(let milliseconds): return trace(loops, milliseconds, reply)
    }
    return nil
  }

  private static func stacks(_ loops: [(loop: Loop, recorder: Recorder)]) -> JSON {
    .array(
      loops.filter { $0.loop.threadNumber != 0 }.map { loop, recorder in
        let sample = ThreadSampler.sample(of: loop.threadNumber)
        return .members([
          "loop": .string(loop.name), "thread": .number(Int64(loop.threadNumber)),
          "activity": .string("\(sample.activity)"),
          "callouts": .array(CalloutsUnderWay.read(recorder).callouts.map(\.json)),
          "stack": .array(sample.stack.frames.map(\.json)),
        ])
      })
  }

  private func trace(
    _ loops: [(loop: Loop, recorder: Recorder)], _ milliseconds: Int, _ reply: @escaping @Sendable (String) -> Void
  ) -> (() -> Void)? {
    guard let trace = Trace(loops) else {
      reply("{\"error\":\"A trace is being taken.\"}\n")
      return nil
    }
    let timer = Loop.Timer(after: .milliseconds(milliseconds)) { _ in
      reply(trace.end())
    }
    timer.name = "rondo-inspect's trace"
    Loop.current.add(timer)
    return {
      timer.invalidate()
      trace.giveUp()
    }
  }
}
