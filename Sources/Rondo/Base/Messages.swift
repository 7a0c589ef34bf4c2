import CLinux
import Glibc

/// The function that the program has set for messages; nil for stderr.
let messageHandler = PerProcess<(@Sendable (String) -> Void)?>(nil)

/// Says what no call could return, in release builds, too: to the program's function, or on stderr unless that would
/// block. Any thread, with no lock held. Calls out.
@inline(never)
package func warn(_ text: String) {
  Lock.assertNoneHeld()
  if let handle = messageHandler.withLock({ $0 }) { return handle(text) }
  guard rondo_is_ready(STDERR_FILENO, 1) != 0 else { return }
  let line = Array("Rondo: \(text)\n".utf8)
  _ = unsafe write(STDERR_FILENO, line, line.count)
}
