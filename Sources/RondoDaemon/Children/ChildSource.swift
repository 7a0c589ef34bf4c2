import CDaemon
import Glibc
public import Rondo

/// Tells when a child process has ended, how, and what it took. See pidfd_open(2), waitid(2).
///
/// It hears of its own child alone, by a descriptor: SIGCHLD stays everybody's, other children are left to others, and a
/// child that ends before it is watched is told all the same. The source is invalid once it has told. Where the kernel
/// refuses to watch a child that runs, that is told: `.unwatched`.
///
/// ```swift
/// var command = ChildSource.Command("/bin/sh", ["-c", "exit 3"])
/// command.input = .null
/// let child = try ChildSource(spawning: command) { _, exit in log.note("\(exit)") }
/// loop.add(child)
/// ```
public struct ChildSource: DaemonSource {
  private let item: Loop.DescriptorSource
  private let child: Child

  /// A source for a child that runs already, or has ended and was not reaped. Costs a descriptor.
  ///
  /// - Parameters:
  ///   - process: Its number, which stays its own until it is reaped.
  ///   - reaps: Whether the child is reaped after the handler; otherwise that is left to waitpid(2).
  ///   - handler: Called once, on the loop's thread.
  /// - Throws: `.notAChild` of this process, or reaped already; `.exhausted`, `.noMemory`.
  public init(
    _ process: CInt, reaps: Bool = true, order: Int = 0, fileID: StaticString = #fileID, line: UInt = #line,
    handler: sending @escaping (ChildSource, ChildExit) -> Void
  ) throws(ChildError) {
    try self.init(Child(process), reaps, order, Label(fileID: fileID, line: line), handler)
  }

  /// Starts a child and makes its source. See posix_spawn(3).
  ///
  /// The child begins with no signal blocked or ignored, and without the environment that is meant for this process
  /// alone: sockets, notifications and watchdog of systemd's.
  ///
  /// - Throws: `.notFound`, `.notPermitted`, `.exhausted`, `.noMemory`, `.containsZero`; then no child is left behind.
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

  private init(
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
    } catch {
      throw .exhausted
    }
  }

  private init(_ item: Loop.DescriptorSource, _ child: Child) {
    self.item = item
    self.child = child
  }

  /// The child's number. It can be another process's once the child has been reaped.
  public var process: CInt { child.process }

  public var items: [Loop.Item] { [item, child.deadline] }

  /// Sends a signal to the child, never to another process that has got its number. Any thread.
  ///
  /// - Throws: `.gone` once it has been reaped, `.notPermitted`, `.unknownSignal`.
  public func send(_ signal: CInt) throws(ChildError) {
    try child.send(signal)
  }

  /// Sends the child SIGTERM, and SIGKILL if it has not ended after `grace`. Any thread.
  ///
  /// Its loop tells the time: SIGKILL waits until a mode of the source's is run. A child that has gone is no error. Asked
  /// again, the time begins anew.
  ///
  /// - Throws: `.notPermitted`, for a child that has become another user's.
  public func terminate(killingAfter grace: Duration) throws(ChildError) {
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
