import CLibevent
import CLinux
import Glibc

/// One of libevent's bases, and the epoll set behind it. *loop thread* of whoever made it
///
/// Costs one descriptor: libevent's pair for signals is closed, since no loop asks it for signals.
@safe final class EventBase {
  let pointer: OpaquePointer
  /// The number libevent most likely has its epoll set under.
  private let likelyEpoll: CInt
  /// The number of the epoll set, once it is known. libevent does not say.
  private(set) var epoll: CInt = -1

  /// Makes a base, at the price of three descriptors for a moment.
  init(for need: String) throws(DescriptorShortage) {
    Self.watchExit
    var likely: CInt = -1
    let base = unsafe OwnDescriptors.withLock { () throws(Never) in unsafe rondo_base_new(&likely) }
    guard let base = unsafe base else {
      throw DescriptorShortage(need: need, errno: errno)
    }
    unsafe pointer = base
    likelyEpoll = likely
  }

  deinit {
    guard epoll >= 0 else { return unsafe event_base_free(pointer) }
    OwnDescriptors.withLock { () throws(Never) in
      OwnDescriptors.remove(epoll)
      unsafe event_base_free(pointer)
    }
  }

  /// Finds out the epoll set's number, once, now that it watches `wakeup`: the set that can be asked anew for it is the one.
  ///
  /// - Parameter others: The loop's other epoll sets, which watch it as well.
  func findEpoll(watching wakeup: CInt, besides others: [CInt]) {
    if epoll >= 0 { return }
    func isIt(_ number: CInt) -> Bool { !others.contains(number) && rondo_wake(number, wakeup) == 0 }
    if isIt(likelyEpoll) {
      epoll = likelyEpoll
    } else {
      // Another thread opened something between the guess and the base.
      var (soft, hard): (UInt64, UInt64) = (0, 0)
      unsafe rondo_descriptor_limits(&soft, &hard)
      for number in 0..<CInt(clamping: max(soft, 65_536)) where isIt(number) {
        epoll = number
        break
      }
    }
    if epoll < 0 { ClosedBehindTheLoop.fail("the epoll set that was made just now", likelyEpoll, EBADF) }
    OwnDescriptors.withLock { () throws(Never) in OwnDescriptors.insert(epoll) }
  }

  /// Once: from here on libevent's exit(3) is not silent.
  private static let watchExit: Void = rondo_watch_exit()
}
