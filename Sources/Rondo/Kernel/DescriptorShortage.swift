import CLinux
import Glibc
import Synchronization

/// A descriptor of the loop's own could not be made.
package struct DescriptorShortage: Error, CustomStringConvertible {
  /// What was needed.
  let need: String
  package let errno: CInt

  /// Whether it is the kernel's memory that is short, and not a number for the descriptor.
  package var isOfMemory: Bool { errno == ENOMEM }

  package var description: String {
    let text = "\(need), and it could not be made: \(describe(epoll: errno))."
    guard errno == EMFILE else { return text }
    var (soft, hard): (UInt64, UInt64) = (0, 0)
    unsafe rondo_descriptor_limits(&soft, &hard)
    return "\(text) The process may have \(soft) descriptors, and could ask for \(hard): see setrlimit(2), `ulimit -n`."
  }

  /// Reports it on stderr, once in a process: what follows works, but slowly.
  static func note(_ shortage: DescriptorShortage, _ consequence: String) {
    if !isNoted.exchange(true, ordering: .relaxed) { warn("\(shortage) \(consequence)") }
  }

  /// *atomic*
  private static let isNoted = Atomic<Bool>(false)
}

/// The program has closed a descriptor of the loop's own, and its number may stand for another file by now.
package enum ClosedBehindTheLoop {
  /// Ends the process: the loop can neither be woken nor wait for a date, and a guess would hit that file.
  package static func fail(_ what: String, _ descriptor: CInt, _ errno: CInt) -> Never {
    fatalError(
      """
      A loop's own descriptor was closed behind its back: \(what), number \(descriptor) \
      (\(describe(errno: errno))). A program that \
      closes all descriptors, as daemons do, has to do so before its first Loop.current, Loop.main or LoopThread.
      """)
  }
}
