import CLinux
import Glibc

/// What the library says on stderr, in a release build too, where nothing could return it.
enum Notice {
  /// Writes a line, unless stderr would block. Any thread.
  @inline(never)
  static func say(_ text: String) {
    guard rondo_is_ready(STDERR_FILENO, 1) != 0 else { return }
    let line = Array("Rondo: \(text)\n".utf8)
    _ = unsafe write(STDERR_FILENO, line, line.count)
  }
}
