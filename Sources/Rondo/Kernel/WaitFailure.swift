import Glibc

/// A system call that a loop cannot do without has failed.
package struct WaitFailure: Error {
  /// *constant* What the call was about, and its number.
  let what: String
  let descriptor: CInt
  /// *constant*
  let errno: CInt
  /// *constant* Its manual page.
  let call: String

  package init(_ what: String, _ descriptor: CInt, _ errno: CInt, in call: String) {
    self.what = what
    self.descriptor = descriptor
    self.errno = errno
    self.call = call
  }

  /// Ends the process with the cause: the loop can neither be woken nor wait for a date.
  package func end() -> Never {
    if Self.isOfClosedDescriptor(errno) { ClosedBehindTheLoop.fail(what, descriptor, errno) }
    fatalError(message)
  }

  /// Whether the errno says that the number stands for no file, or for another one than the loop has opened.
  ///
  /// See ERRORS in epoll_ctl(2), epoll_wait(2), timerfd_settime(2).
  static func isOfClosedDescriptor(_ errno: CInt) -> Bool {
    [EBADF, EINVAL, ENOENT, EPERM, EEXIST, ELOOP].contains(errno)
  }

  private var message: String {
    let cause = "A loop cannot go on: \(call) failed with \(describe(errno: errno)), for \(what), number \(descriptor)."
    return errno == ENOSPC
      ? "\(cause) The user watches as many descriptors as /proc/sys/fs/epoll/max_user_watches allows: see epoll(7)."
      : cause
  }
}
