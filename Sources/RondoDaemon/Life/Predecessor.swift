import Glibc
import Rondo
import RondoSockets

/// The process that has started this one, and waits for it to be ready.
final class Predecessor: Sendable {
  /// *constant* It has the other end.
  private let line: Socket

  /// Nil without one.
  init?(environment: [String: String]) throws(DaemonError) {
    guard let number = try ServiceEnvironment.predecessor(in: environment, for: getpid()) else { return nil }
    guard fcntl(number, F_SETFD, FD_CLOEXEC) == 0, let line = try? Socket(owning: number) else {
      throw .notOpen(number)
    }
    self.line = line
  }

  /// Tells it that this process is ready, and calls `body` on the loop's thread when it has made way, or has ended. Any
  /// thread.
  func tellReady(on loop: Loop, _ body: @escaping @Sendable () -> Void) {
    _ = try? line.send([1])
    let source = try? Loop.DescriptorSource(line.descriptor, for: .read) { [line] source, _ in
      source.invalidate()
      withExtendedLifetime(line, body)
    }
    guard let source, loop.add(source, to: .common) else { return body() }
    source.name = "daemon: the predecessor"
  }
}
