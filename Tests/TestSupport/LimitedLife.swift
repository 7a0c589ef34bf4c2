internal import Glibc

/// Seconds that a test waits for what takes no time: a minute, or those in the environment's RONDO_ALARM.
package let patience: UInt32 = unsafe getenv("RONDO_ALARM").flatMap { unsafe UInt32(String(cString: $0)) } ?? 60

/// Ends the process by SIGALRM after that many seconds. What waits for ever has failed.
///
/// Whoever started it may have blocked the signal, as the threads of Dispatch do, and a blocked one never comes.
package func endProcess(after seconds: UInt32) {
  var signals = sigset_t()
  unsafe sigemptyset(&signals)
  unsafe sigaddset(&signals, SIGALRM)
  unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
  alarm(seconds)
}
