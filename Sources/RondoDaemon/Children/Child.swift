import CLinux
import CRondoDaemon
import Glibc
import Rondo

/// A child's pidfd, closed with the last reference to it, and the time it has left.
final class Child: Sendable {
  /// *constant*
  let process: CInt
  /// *constant*
  let descriptor: CInt
  /// *constant* Kills the child; in ages, until a date is set.
  let deadline: Loop.Timer

  convenience init(_ process: CInt) throws(ChildError) {
    guard process > 0 else { throw .notAChild(process) }
    let descriptor = rondo_pidfd_open(process)
    guard descriptor >= 0 else { throw ChildError(process, -descriptor) }
    var end = rondo_child_end()
    let result = unsafe rondo_child_look(descriptor, 0, &end)
    guard result >= 0 else {
      rondo_close(descriptor)
      throw ChildError(process, -result)
    }
    self.init(process, descriptor)
  }

  /// - Parameter descriptor: The process's pidfd. The process may be another one's child: then nobody learns how it ends.
  init(_ process: CInt, _ descriptor: CInt) {
    self.process = process
    self.descriptor = descriptor
    deadline = Loop.Timer(after: .seconds(Int64.max)) { _ in rondo_pidfd_signal(descriptor, SIGKILL) }
  }

  deinit {
    rondo_close(descriptor)
  }

  /// How it ended; nil while it runs. Leaves it to be reaped.
  func look() -> ChildExit? {
    var end = rondo_child_end()
    let result = unsafe rondo_child_look(descriptor, 0, &end)
    if result == 0 { return nil }
    // Other code has reaped it, by waitpid(-1), or SIGCHLD is ignored.
    return result > 0 ? ChildExit(end) : ChildExit(outcome: .unknown, usage: nil)
  }

  /// The same for a loop that may have given up: then it has ended, or runs unwatched.
  func look(unless reason: Loop.DescriptorSource.InvalidationReason?) -> ChildExit? {
    guard let reason else { return look() }
    let unwatched = ChildExit(outcome: .unwatched(errno: reason.errno), usage: nil)
    // A descriptor that was closed may be a stranger's by now.
    return reason == .descriptorClosed ? unwatched : look() ?? unwatched
  }

  func reap() {
    var end = rondo_child_end()
    _ = unsafe rondo_child_look(descriptor, 1, &end)
  }

  func send(_ signal: CInt, toGroup: Bool = false) throws(ChildError) {
    let result =
      toGroup ? rondo_group_signal(descriptor, process, signal) : rondo_pidfd_signal(descriptor, signal)
    if result < 0 { throw ChildError(process, -result, signal: signal) }
  }
}
