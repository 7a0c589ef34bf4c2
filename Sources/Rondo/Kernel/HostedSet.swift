import CLinux
import Glibc
import Synchronization

/// The epoll set that a host waits by. Its number stays, though the mode may come to wait by another set. *loop thread*
///
/// That happens when a watched descriptor was closed behind the loop's back: what the kernel then keeps in the set can
/// never be taken out. The old set is emptied of all else, and holds the new one: epoll sets nest.
@safe final class HostedSet {
  /// *constant* The mode's index.
  let mode: Int
  /// *constant* What the host knows.
  let epoll: CInt
  /// The old set's base.
  @safe @exclusivity(unchecked) private var abandoned: EventBase?

  init(mode: Int, epoll: CInt) {
    self.mode = mode
    self.epoll = epoll
  }

  /// Keeps the base of the set that the host knows, which nothing waits by any more.
  func keep(_ base: EventBase) {
    abandoned = base
  }

  /// The mode waits by `base` from now on.
  func follow(_ base: EventBase) {
    if base.epoll == epoll { return }
    let error = rondo_nest(epoll, base.epoll)
    if error != 0 { WaitFailure("the epoll set that its host waits by", epoll, error, in: "epoll_ctl(2)").end() }
    Self.complain(of: epoll)
  }

  /// Reports it on stderr, once in a process: an error of the program that can keep a processor busy.
  private static func complain(of epoll: CInt) {
    if hasComplained.exchange(true, ordering: .relaxed) { return }
    let text = """
      Rondo: A watched descriptor was closed before its source was invalidated. If its file is open elsewhere, the host of \
      an embedded loop may find the embedding's descriptor, number \(epoll), readable for nothing until the embedding ends.

      """
    let bytes = Array(text.utf8)
    _ = unsafe write(2, bytes, bytes.count)
  }

  /// *atomic*
  private static let hasComplained = Atomic<Bool>(false)
}
