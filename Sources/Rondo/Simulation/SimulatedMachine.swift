package import CLinux
import Glibc
import Synchronization

/// Answers system calls on the descriptors that it gave out: `RondoTesting` has it. The machine says on which threads.
package protocol SimulatedMachine: AnyObject, Sendable {
  /// - Returns: A result of zero or more, or minus errno.
  func answer(_ call: rondo_call, _ descriptor: CInt, _ first: Int, _ second: Int, _ third: Int, _ fourth: Int) -> Int
}

/// The machines that are simulated at present, each with a range of descriptors. Any thread.
package enum SimulatedMachines {
  /// How many descriptors the range of a machine has. It gives out half of them: those before were another machine's.
  package static let mostDescriptors = 1 << 23
  private static let mostMachines = 1 << 7

  /// A range of descriptors.
  private struct Place {
    var machine: (any SimulatedMachine)?
    /// How many of the descriptors have been given out, by all machines that had the range.
    var used = 0
  }

  private static let places = PerProcess([Place](repeating: Place(), count: mostMachines))
  /// *atomic* How many there are: a process without one makes its sockets without a look at its thread.
  private static let count = Atomic(0)

  /// Gives a machine its range, before a call on it can come.
  ///
  /// - Parameter take: Called with the first descriptor of the range, and with how many of them have been used: the next ones
  ///   are to be given out first. Sockets of a machine that is gone may still be closed. Under the lock.
  /// - Returns: Whether there was a range.
  package static func add(_ machine: any SimulatedMachine, _ take: (_ first: CInt, _ used: Int) -> Void) -> Bool {
    let isAdded = places.withLock { places in
      guard let free = places.indices.first(where: { places[$0].machine == nil }) else { return false }
      take(RONDO_FIRST_SIMULATED + CInt(free * mostDescriptors), places[free].used)
      places[free].machine = machine
      return true
    }
    if isAdded { count.add(1, ordering: .relaxed) }
    return isAdded
  }

  /// Calls on the machine's descriptors fail with EBADF from now on.
  package static func remove(first descriptor: CInt, used: Int) {
    places.withLock { $0[place(of: descriptor)] = Place(used: used % mostDescriptors) }
    count.subtract(1, ordering: .relaxed)
  }

  fileprivate static func machine(of descriptor: CInt) -> (any SimulatedMachine)? {
    places.withLock { $0[place(of: descriptor)].machine }
  }

  /// What waits in place of the kernel on the calling thread.
  fileprivate static var script: (any WaitScript)? {
    guard count.load(ordering: .relaxed) > 0 else { return nil }
    guard case .scripted(let scripted)? = ThreadRecord.current.virtualLoop?.core.wait else { return nil }
    return scripted.script
  }

  private static func place(of descriptor: CInt) -> Int {
    Int(descriptor - RONDO_FIRST_SIMULATED) / mostDescriptors
  }
}

/// A system call, in C. Without a descriptor, -1, it is one of the calling thread's machine.
@c(rondo_simulate)
func simulate(_ call: rondo_call, _ descriptor: CInt, _ first: Int, _ second: Int, _ third: Int, _ fourth: Int) -> Int {
  guard descriptor >= 0 else { return SimulatedMachines.script?.call(call, first, second) ?? -Int(ENOSYS) }
  return SimulatedMachines.machine(of: descriptor)?.answer(call, descriptor, first, second, third, fourth) ?? -Int(
    EBADF)
}
