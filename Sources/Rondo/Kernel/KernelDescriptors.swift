import CLinux
import Glibc

/// What every loop has in the kernel: an eventfd that wakes it, a timerfd, and a base to wait by.
///
/// With the base's epoll set that is three descriptors; the main thread's loop has the main dispatch queue's as well.
struct KernelDescriptors {
  /// An eventfd that is always readable; EPOLL_CTL_MOD of it in an epoll set wakes the thread that waits there.
  let wakeup: CInt
  /// A timerfd.
  let timer: CInt

  /// Those of a loop that ends at once, and never waits.
  static let none = KernelDescriptors(wakeup: -1, timer: -1)

  /// Makes them all, or none.
  ///
  /// - Parameter servesMainQueue: Whether the main dispatch queue's descriptor is made as well.
  static func make(servesMainQueue: Bool) throws(DescriptorShortage) -> (KernelDescriptors, EventBase) {
    let base = try EventBase(for: "A loop needs an epoll set")
    return try OwnDescriptors.numbers.withLock { (numbers) throws(DescriptorShortage) in
      let wakeup = rondo_readable_eventfd()
      guard wakeup >= 0 else { throw DescriptorShortage(need: "A loop needs an eventfd", errno: errno) }
      let timer = rondo_timerfd()
      guard timer >= 0 else {
        let error = errno
        Glibc.close(wakeup)
        throw DescriptorShortage(need: "A loop needs a timerfd", errno: error)
      }
      if servesMainQueue {
        let error = MainQueue.prepare(isForked: ProcessGeneration.current > 0)
        if error != 0 {
          Glibc.close(wakeup)
          Glibc.close(timer)
          throw DescriptorShortage(need: "The main loop needs the main dispatch queue's eventfd", errno: error)
        }
      }
      OwnDescriptors.insert(wakeup, into: &numbers)
      OwnDescriptors.insert(timer, into: &numbers)
      return (KernelDescriptors(wakeup: wakeup, timer: timer), base)
    }
  }

  func close() {
    if timer >= 0 { OwnDescriptors.close(timer) }
  }
}
