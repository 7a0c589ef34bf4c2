import Glibc

/// A system call that a loop cannot do without has failed.
struct WaitFailure: Error {
  /// The descriptor that the call was about.
  let what: String
  let descriptor: CInt
  let errno: CInt
  let call: String

  /// Ends the process with the cause: the loop can be neither woken nor told the time.
  func end() -> Never { Self.end(what, descriptor, errno, in: call) }

  /// The same.
  static func end(_ what: String, _ descriptor: CInt, _ errno: CInt, in call: String) -> Never {
    if isOfClosedDescriptor(errno) { ClosedBehindTheLoop.fail(what, descriptor, errno) }
    fatalError(message(what, descriptor, errno, in: call))
  }

  /// Whether the errno says that the number stands for no file, or for another one than the loop has opened.
  ///
  /// See ERRORS in epoll_ctl(2), epoll_wait(2), timerfd_settime(2).
  static func isOfClosedDescriptor(_ errno: CInt) -> Bool {
    [EBADF, EINVAL, ENOENT, EPERM, EEXIST, ELOOP].contains(errno)
  }

  private static func message(_ what: String, _ descriptor: CInt, _ errno: CInt, in call: String) -> String {
    let cause = "A loop cannot go on: \(call) failed with \(describe(errno: errno)), for \(what), number \(descriptor)."
    return errno == ENOSPC
      ? "\(cause) The user watches as many descriptors as /proc/sys/fs/epoll/max_user_watches allows: see epoll(7)."
      : cause
  }
}
