import CRondoDaemon
import Glibc
public import Rondo

/// Calls its handler when a child process has ended. See pidfd_open(2), waitid(2).
///
/// It watches its own child alone, by a descriptor: SIGCHLD and other children stay untouched. If the child ends before
/// you add the source, the handler is still called. The source is invalid afterwards. If the kernel refuses to watch a
/// running child, the handler is called with `.unwatched`.
///
/// ```swift
/// var command = ChildSource.Command("/bin/sh", ["-c", "exit 3"])
/// command.input = .null
/// let child = try ChildSource(spawning: command) { _, exit in log.note("\(exit)") }
/// loop.add(child)
/// ```
public struct ChildSource: DaemonSource {
  private let item: Loop.DescriptorSource
  let child: Child

  /// Makes a source for a child that runs, or that ended and was not reaped.
  ///
  /// Costs a descriptor.
  ///
  /// - Parameters:
  ///   - process: The child's number (PID). It stays valid until the child is reaped.
  ///   - reaps: Whether the source reaps the child after the handler. If false, reap it with waitpid(2).
  ///   - handler: Called once, on the loop's thread.
  /// - Throws: `.notAChild` for another process or a reaped child; `.exhausted`, `.noMemory`, `.notPermitted`;
  ///   `.system` for any other errno.
  public init(
    _ process: CInt, reaps: Bool = true, order: Int = 0, fileID: StaticString = #fileID, line: UInt = #line,
    handler: sending @escaping (ChildSource, ChildExit) -> Void
  ) throws(ChildError) {
    try self.init(Child(process), reaps, order, Label(fileID: fileID, line: line), handler)
  }

  /// Starts a child and makes its source. See posix_spawn(3).
  ///
  /// The child begins with no signal blocked. It ignores only SIGHUP, SIGINT and SIGQUIT, if this process ignores them,
  /// as nohup(1) and a shell's `&` have it. Its environment lacks systemd's variables for this process:
  /// sockets, notifications and watchdog. Costs a descriptor.
  ///
  /// - Throws: `.notFound`, `.noDirectory`, `.noInterpreter`, `.notPermitted`, `.exhausted`, `.noMemory`,
  ///   `.containsZero`; `.system` for any other errno. No child is left behind then.
  public init(
    spawning command: Command, reaps: Bool = true, order: Int = 0, fileID: StaticString = #fileID, line: UInt = #line,
    handler: sending @escaping (ChildSource, ChildExit) -> Void
  ) throws(ChildError) {
    let process = try command.spawn()
    do {
      try self.init(Child(process), reaps, order, Label(fileID: fileID, line: line), handler)
    } catch {
      rondo_abandon(process)
      throw error
    }
  }

  init(
    _ child: Child, _ reaps: Bool, _ order: Int, _ label: Label,
    _ handler: sending @escaping (ChildSource, ChildExit) -> Void
  ) throws(ChildError) {
    self.child = child
    do {
      item = try Loop.ReportedDescriptorSource(child.descriptor, for: .read, order: order) { item, _ in
        guard let exit = child.look(unless: item.invalidationReason) else { return }
        let source = ChildSource(item, child)
        source.invalidate()
        handler(source, exit)
        // Not before: until then the number is the child's.
        if reaps, exit.usage != nil { child.reap() }
      }
      item.wasMade(at: label)
      child.deadline.label = label
    } catch {
      throw .exhausted
    }
  }

  private init(_ item: Loop.DescriptorSource, _ child: Child) {
    self.item = item
    self.child = child
  }

  /// The child's number (PID). After the child was reaped, another process can get the number.
  public var process: CInt { child.process }

  /// The items of the source: its descriptor source and the timer of `terminate(grace:)`.
  public var items: [Loop.Item] { [item, child.deadline] }

  /// Sends a signal to the child, and never to another process with its number. Any thread.
  ///
  /// - Throws: `.gone` if the child was reaped, `.notPermitted`, `.unknownSignal`.
  public func send(_ signal: CInt) throws(ChildError) {
    try child.send(signal)
  }

  /// Sends a signal to the processes of the group that the child leads. Any thread.
  ///
  /// The child leads one if its command says so (`leadsGroup`). The processes that it starts belong to it, and stay
  /// when the child has ended: the source's handler can still signal them.
  ///
  /// - Throws: `.gone` if no process is in the group, or the child leads none; `.notPermitted`, `.unknownSignal`. Before
  ///   Linux 6.9 `.gone` also if the child was reaped.
  public func sendToGroup(_ signal: CInt) throws(ChildError) {
    try child.send(signal, toGroup: true)
  }

  /// Sends the child SIGTERM, and SIGKILL if it has not ended after `grace`. Any thread.
  ///
  /// The loop measures the time: SIGKILL is sent while the loop runs a mode of the source. If the child has ended, the
  /// call does nothing. A second call starts the time again.
  ///
  /// - Throws: `.notPermitted` if the child has changed to another user.
  public func terminate(grace: Duration) throws(ChildError) {
    do {
      try child.send(SIGTERM)
    } catch .gone {
      return
    } catch {
      throw error
    }
    child.deadline.setFireDate(after: grace)
  }
}
