import CLinux
import Glibc
import Synchronization

/// The numbers that all loops of the process have for their own descriptors.
///
/// If the kernel hands out a number that is in the list, the program has closed it, and two loops would share it from
/// now on, which no later system call shows. A number is in the list only while a loop has it open: it is put there
/// after it was opened, and leaves right before it is closed, inside the lock.
package enum OwnDescriptors {
  /// *atomic* The lock's holder: its process's generation plus one, doubled, and one more if a thread may sleep on it;
  /// 0 if it is free. A forked child may find it held by a thread that it does not have, and takes it over.
  /// Ordering: a release happens before the next acquisition, and so does what the holder wrote to `list`.
  private static let holder = Word()
  /// *that lock*
  nonisolated(unsafe) private static var list = List()

  private final class Word: Sendable {
    let value = Atomic<UInt32>(0)

    /// Where the word lives: an `Atomic` has one address for its lifetime.
    var address: UnsafeMutableRawPointer {
      unsafe withUnsafePointer(to: value) { unsafe UnsafeMutableRawPointer(mutating: $0) }
    }
  }

  private final class List {
    /// *constant*
    let generation = ProcessGeneration.current
    /// *that lock*
    var numbers: Set<CInt> = []
  }

  /// Runs `body` while no other thread makes or closes descriptors of loops.
  static func withLock<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    lock()
    defer {
      if holder.value.exchange(0, ordering: .sequentiallyConsistent) & 1 != 0 {
        unsafe rondo_futex_wake(holder.address)
      }
    }
    return try body()
  }

  private static func lock() {
    let held = (ProcessGeneration.current &+ 1) &<< 1
    let awaited = held | 1
    var wanted = held
    while true {
      let seen = holder.value.load(ordering: .sequentiallyConsistent)
      if seen == awaited {
        unsafe rondo_futex_wait(holder.address, awaited)
        // Other threads may sleep on it as well: this one, once it has the lock, has to wake the next.
        wanted = awaited
      } else {
        let (exchanged, _) = holder.value.compareExchange(
          expected: seen, desired: seen == held ? awaited : wanted, ordering: .sequentiallyConsistent)
        if exchanged && seen != held { return }
      }
    }
  }

  /// The list of this process. A child leaves its parent's where it is: a thread may have been about to change it.
  private static var current: List {
    if unsafe list.generation != ProcessGeneration.current {
      _ = unsafe Unmanaged.passRetained(list)
      unsafe list = List()
    }
    return unsafe list
  }

  /// Makes a descriptor that a loop has from now on.
  ///
  /// - Parameter open: Returns a negative number, and errno, if there is none.
  package static func make(_ need: String, _ open: () -> CInt) throws(DescriptorShortage) -> CInt {
    try withLock { () throws(DescriptorShortage) in
      let made = open()
      guard made >= 0 else { throw DescriptorShortage(need: need, errno: errno) }
      insert(made)
      return made
    }
  }

  /// Notes a number that a loop has from now on. Inside the lock.
  static func insert(_ descriptor: CInt) {
    if !current.numbers.insert(descriptor).inserted {
      ClosedBehindTheLoop.fail("it was given to a new loop just now", descriptor, EBADF)
    }
  }

  /// Forgets a number, right before its descriptor is closed. Inside the lock.
  static func remove(_ descriptor: CInt) {
    _ = current.numbers.remove(descriptor)
  }

  /// Closes a descriptor that a loop had.
  package static func close(_ descriptor: CInt) {
    withLock { () throws(Never) in
      remove(descriptor)
      _ = Glibc.close(descriptor)
    }
  }
}
