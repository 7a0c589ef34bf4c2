internal import Glibc

/// Swift's Glibc module hides fork(2), which is safe in tests: their child does little and leaves by _exit(2).
@_silgen_name("fork") private func fork() -> CInt

/// fork(2).
package func forkProcess() -> CInt {
  let child = fork()
  if child == 0 {
    // Dispatch's threads block every signal: the child's alarm is to end it.
    var alarm = sigset_t()
    unsafe sigemptyset(&alarm)
    unsafe sigaddset(&alarm, SIGALRM)
    unsafe pthread_sigmask(SIG_UNBLOCK, &alarm, nil)
  }
  return child
}

/// How a child ended.
package enum End: Equatable, Sendable {
  case exit(CInt)
  case signal(CInt)
}

/// Waits for a child.
package func end(of child: CInt) -> End {
  var status: CInt = 0
  while unsafe waitpid(child, &status, 0) != child {
    precondition(errno == EINTR, "There is no child \(child): errno \(errno).")
  }
  let signal = status & 0x7F
  return signal == 0 ? .exit((status >> 8) & 0xFF) : .signal(signal)
}

/// How many descriptors of the process stand for a file of that kind, as /proc names it: "[pidfd]", "[eventfd]".
package func descriptors(of kind: String) -> Int {
  var limit = rlimit()
  precondition(unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
  return (0..<CInt(clamping: min(limit.rlim_cur, 65_536))).count { number in
    var name = [CChar](repeating: 0, count: 64)
    let length = unsafe readlink("/proc/self/fd/\(number)", &name, name.count)
    guard length > 0 else { return false }
    return String(decoding: name.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self).hasSuffix(kind)
  }
}
