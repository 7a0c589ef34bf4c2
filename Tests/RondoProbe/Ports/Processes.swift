import CLinux
import Glibc

/// A server in a process of its own.
final class Server: @unchecked Sendable {
  private let process: pid_t
  /// The server's standard output.
  private let output: CInt

  init(_ way: Way, name: String, directory: String?) {
    var ends: [CInt] = [0, 0]
    precondition(unsafe rondo_pipe(&ends) == 0, "No pipe could be made: errno \(errno).")
    let words = ["rondo-probe", "serve", way.rawValue, name] + (directory.map { [$0] } ?? [])
    var arguments: [UnsafeMutablePointer<CChar>?] = unsafe words.map { unsafe strdup($0) } + [nil]
    var actions = unsafe posix_spawn_file_actions_t()
    _ = unsafe posix_spawn_file_actions_init(&actions)
    _ = unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
    var process: pid_t = 0
    let error = unsafe posix_spawn(&process, "/proc/self/exe", &actions, nil, &arguments, environ)
    precondition(error == 0, "No process could be made: errno \(error).")
    _ = unsafe posix_spawn_file_actions_destroy(&actions)
    while let word = unsafe arguments.popLast() { unsafe free(word) }
    close(ends[1])
    self.process = process
    output = ends[0]
  }

  /// The next line the server says; empty once it has ended.
  func line() -> String {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while unsafe read(output, &byte, 1) == 1, byte != UInt8(ascii: "\n") { bytes.append(byte) }
    return String(decoding: bytes, as: UTF8.self)
  }

  func kill() {
    _ = Glibc.kill(process, SIGKILL)
  }

  /// Waits until it is dead.
  func reap() {
    kill()
    var status: CInt = 0
    while unsafe waitpid(process, &status, 0) != process {}
    close(output)
  }
}

/// A thread that runs `body` once.
final class Thread {
  private var thread = pthread_t()

  init(_ body: @escaping @Sendable () -> Void) {
    let box = unsafe Unmanaged.passRetained(Body(body)).toOpaque()
    let error = unsafe pthread_create(
      &thread, nil,
      { argument in
        unsafe Unmanaged<Body>.fromOpaque(argument!).takeRetainedValue().run()
        return nil
      }, box)
    precondition(error == 0, "No thread could be made: errno \(error).")
  }

  func join() {
    _ = pthread_join(thread, nil)
  }

  private final class Body: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }
}
