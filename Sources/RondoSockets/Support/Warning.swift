import CLinux
import Glibc

/// Says on stderr what the environment is at fault for, in release builds too. Any thread.
///
/// Nothing is said while a write to stderr would block, for a loop would wait.
package func warn(_ text: String) {
  guard rondo_is_ready(STDERR_FILENO, 1) != 0 else { return }
  let line = Array("Rondo: \(text)\n".utf8)
  _ = unsafe write(STDERR_FILENO, line, line.count)
}

/// What to do where no descriptor is left.
package var descriptorAdvice: String {
  "The limit of open files (RLIMIT_NOFILE, ulimit -n) is \(descriptorLimit)."
}

/// How many descriptors this process may open: RLIMIT_NOFILE.
package var descriptorLimit: Int {
  var limit = rlimit()
  guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
  return Int(clamping: limit.rlim_cur)
}
