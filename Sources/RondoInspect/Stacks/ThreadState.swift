import CLinux
import CRondoInspect
import Glibc

/// The state of a thread of this process, from /proc/self/task. See proc(5).
public enum ThreadActivity: Sendable, Hashable, CustomStringConvertible {
  /// The thread is on a processor, or ready to run.
  case running
  /// The thread is blocked in the kernel.
  ///
  /// `call` is nil if the kernel states no system call, for example if the thread waits for memory. `descriptor` is nil
  /// if the call has none.
  case blocked(call: String?, descriptor: CInt?, file: String?)
  /// A signal or a debugger has stopped the thread.
  case stopped
  /// There is no such thread, or the kernel does not state its activity.
  case unknown

  /// Words for the activity, with the system call of a blocked thread.
  public var description: String {
    switch self {
    case .running: return "running"
    case .blocked(let call, let descriptor, let file):
      guard let call else { return "blocked in the kernel" }
      guard let descriptor else { return "blocked in \(call)" }
      return "blocked in \(call) of descriptor \(descriptor)" + (file.map { " (\($0))" } ?? "")
    case .stopped: return "stopped"
    case .unknown: return "in an unknown state"
    }
  }
}

/// Where a blocked thread is, as the kernel tells it.
struct BlockedPlace: Equatable {
  let pc: UInt64
  let sp: UInt64
}

package enum ThreadState {
  /// The kernel's number of the calling thread.
  package static var ownNumber: Int32 { rondo_thread_id() }

  /// The numbers of the process's threads; none if the kernel does not tell. Each may have ended since.
  static func all() -> [Int32] {
    guard let directory = unsafe opendir("/proc/self/task") else { return [] }
    defer { unsafe closedir(directory) }
    let place = MemoryLayout<dirent>.offset(of: \.d_name)!
    var threads: [Int32] = []
    while let entry = unsafe readdir(directory) {
      let name = unsafe (UnsafeRawPointer(entry) + place).assumingMemoryBound(to: CChar.self)
      // Not "." and "..".
      if let thread = Int32(unsafe String(cString: name)) { threads.append(thread) }
    }
    return threads
  }

  /// What a thread does, and where, if it is blocked.
  static func activity(of thread: Int32) -> (ThreadActivity, BlockedPlace?) {
    guard let stat = read("stat", of: thread), let letter = letter(inStat: stat) else { return (.unknown, nil) }
    switch letter {
    case "T", "t": return (.stopped, nil)
    case "R": return (.running, nil)
    case "S", "D", "I": break
    default: return (.unknown, nil)
    }
    guard let call = read("syscall", of: thread) else {
      return (.blocked(call: nil, descriptor: nil, file: nil), nil)
    }
    return blocked(inCall: call)
  }

  /// Whether a thread waits in the kernel.
  package static func isBlocked(_ thread: Int32) -> Bool {
    if case .blocked = activity(of: thread).0 { true } else { false }
  }

  /// Whether a thread waits for a lock, or for something else by futex(2).
  package static func waitsForLock(_ thread: Int32) -> Bool {
    if case .blocked(call: "futex", _, _) = activity(of: thread).0 { true } else { false }
  }

  /// How long the thread has waited for a processor, in nanoseconds; nil if the kernel does not tell.
  static func processorDelay(of thread: Int32) -> Int64? {
    guard let text = read("schedstat", of: thread) else { return nil }
    let fields = text.split(separator: " ")
    return fields.count > 1 ? Int64(fields[1]) : nil
  }

  /// Nanoseconds that the thread has been on a processor; nil if the kernel does not tell.
  package static func processorTime(of thread: Int32) -> Int64? {
    guard let text = read("schedstat", of: thread), let field = text.split(separator: " ").first else { return nil }
    return Int64(field)
  }

  /// Whether the thread blocks a signal. It is said to block none if the kernel does not tell.
  static func blocks(_ signal: Int, _ thread: Int32) -> Bool {
    guard let status = read("status", of: thread) else { return false }
    return blocks(signal, inStatus: status)
  }

  /// The line "SigBlk" of /proc/PID/status: a bit for each signal, in hexadecimal.
  static func blocks(_ signal: Int, inStatus status: String) -> Bool {
    guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("SigBlk:") }),
      let mask = UInt64(line.dropFirst(7).drop { $0 == " " || $0 == "\t" }, radix: 16)
    else { return false }
    return mask >> UInt64(signal - 1) & 1 != 0
  }

  /// The thread's name as the kernel has it.
  static func name(of thread: Int32) -> String? {
    read("comm", of: thread).map { String($0.prefix { $0 != "\n" }) }
  }

  /// The state's letter. What stands before it is a name, which may have any character in it.
  static func letter(inStat stat: String) -> Character? {
    guard let end = stat.lastIndex(of: ")") else { return nil }
    return stat[stat.index(after: end)...].first { $0 != " " }
  }

  /// What /proc/PID/syscall says: "running"; or the number of the call, six arguments, the stack and the place.
  static func blocked(inCall text: String) -> (ThreadActivity, BlockedPlace?) {
    let fields = text.split { $0 == " " || $0 == "\n" }
    guard fields.count >= 3, let number = Int(fields[0]) else { return (.running, nil) }
    let place: BlockedPlace? =
      if let sp = hexadecimal(fields[fields.count - 2]), let pc = hexadecimal(fields[fields.count - 1]) {
        BlockedPlace(pc: pc, sp: sp)
      } else {
        nil
      }
    guard number >= 0 else { return (.blocked(call: nil, descriptor: nil, file: nil), place) }
    var isDescriptor: CInt = 0
    guard let name = unsafe rondo_call_name(number, &isDescriptor) else {
      return (.blocked(call: "system call \(number)", descriptor: nil, file: nil), place)
    }
    let call = unsafe String(cString: name)
    guard isDescriptor != 0, let argument = hexadecimal(fields[1]) else {
      return (.blocked(call: call, descriptor: nil, file: nil), place)
    }
    let descriptor = CInt(truncatingIfNeeded: argument)
    return (.blocked(call: call, descriptor: descriptor, file: SystemFiles.target(of: descriptor)), place)
  }

  private static func hexadecimal(_ text: Substring) -> UInt64? {
    text.hasPrefix("0x") ? UInt64(text.dropFirst(2), radix: 16) : nil
  }

  private static func read(_ file: String, of thread: Int32) -> String? {
    SystemFiles.text("/proc/self/task/\(thread)/\(file)", limit: 4_096)
  }
}
