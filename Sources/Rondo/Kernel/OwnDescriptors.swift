import Glibc

/// The numbers that all loops of the process have for their own descriptors.
///
/// If the kernel hands out a number that is in the list, the program has closed it, and two loops would share it from
/// now on, which no later system call shows. A number is in the list only while a loop has it open: it is put there
/// after it was opened, and leaves right before it is closed, inside the lock.
package enum OwnDescriptors {
  /// *its lock*, which a thread holds while it makes or closes descriptors of a loop.
  static let numbers = PerProcess<Set<CInt>>([])

  /// Makes a descriptor that a loop has from now on.
  ///
  /// - Parameter open: Returns a negative number, and errno, if there is none.
  package static func make(_ need: String, _ open: () -> CInt) throws(DescriptorShortage) -> CInt {
    try numbers.withLock { (numbers) throws(DescriptorShortage) in
      let made = open()
      guard made >= 0 else { throw DescriptorShortage(need: need, errno: errno) }
      insert(made, into: &numbers)
      return made
    }
  }

  /// Notes a number that a loop has from now on.
  static func insert(_ descriptor: CInt, into numbers: inout Set<CInt>) {
    if !numbers.insert(descriptor).inserted {
      ClosedBehindTheLoop.fail("it was given to a new loop just now", descriptor, EBADF)
    }
  }

  /// Closes a descriptor that a loop had.
  package static func close(_ descriptor: CInt) {
    numbers.withLock { numbers in
      numbers.remove(descriptor)
      _ = Glibc.close(descriptor)
    }
  }
}
