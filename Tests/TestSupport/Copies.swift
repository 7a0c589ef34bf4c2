internal import Glibc

// A child that another test starts has a copy of every descriptor from fork to exec, of those that close on exec as well.
// What was closed here may thus be open for a moment, and longer on a machine that is busy.

/// Tries what a copy of a closed descriptor can hold up, for at most a minute.
///
/// - Returns: Whether it succeeded.
package func succeedsWithoutCopies(_ attempt: () -> Bool) -> Bool {
  for _ in 0..<60_000 {
    if attempt() { return true }
    usleep(1_000)
  }
  return false
}

/// Waits until the other end of a pipe or connection is closed, in every copy, for at most a minute.
///
/// - Returns: Whether it is.
@discardableResult
package func waitForOtherEnd(of descriptor: CInt) -> Bool {
  var query = pollfd(fd: descriptor, events: 0, revents: 0)
  var count = unsafe poll(&query, 1, 60_000)
  // A signal of another test's.
  while count < 0 && errno == EINTR { count = unsafe poll(&query, 1, 60_000) }
  return count == 1 && query.revents & Int16(POLLHUP | POLLERR) != 0
}
