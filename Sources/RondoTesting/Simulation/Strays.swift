internal import CLinux
internal import Rondo
internal import RondoInspect

/// What leaves a simulation without a wait: sockets of the kernel that code of a host opens, and posts by threads that no host
/// has.
enum Strays {
  /// Of each stack that was told the innermost places: what is outside of them depends on how the thread began. Any thread.
  private static let told = PerProcess<Set<[UInt64]>>([])

  /// Makes a socket of the kernel, but not for code of a host. Any thread.
  fileprivate static func makeSocket(_ family: CInt, _ type: CInt, _ rule: CInt) -> CInt {
    if let host = ScopeOfTasks.current?.host {
      let sample = ThreadSample.ofCallingThread()
      fatalError(
        """
        Code of the simulated host \(host.address) opens a socket of the kernel, which no simulated host can reach. Use \
        Rondo's sockets and connections there, or open it outside of the host.\(sample.lines)
        """)
    }
    return rondo_socket_of_kernel(family, type, rule)
  }

  /// Says that a thread which no host has posted to a loop. Each place in a program is told once.
  static func tell(_ post: ThreadSample, to title: String, _ timeline: Timeline) {
    timeline.tell(on: title) { "a post of a thread came that no host has: the seed does not choose when" }
    let innermost = Array(post.addresses.prefix(12))
    guard told.withLock({ $0.insert(innermost).inserted }) else { return }
    warn(
      """
      A thread that no simulated host has posted to the loop of \(title), which noticed at \(timeline.elapsed). The seed does not \
      choose when that comes: another run of the test may differ.\(post.lines)
      """)
  }
}

extension ThreadSample {
  /// The functions from the innermost one of the program on, each behind a new line: what called it in the end is the loop.
  var lines: String { functions.drop(while: \.isOfLoop).prefix(12).map { "\n    \($0)" }.joined() }
}

/// Goes before the C library's function, for the whole program. Any thread.
@c(socket) func socketOfProgram(_ family: CInt, _ type: CInt, _ rule: CInt) -> CInt {
  Strays.makeSocket(family, type, rule)
}
