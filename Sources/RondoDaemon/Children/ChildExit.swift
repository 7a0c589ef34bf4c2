import CRondoDaemon
import Glibc
import Rondo
public import RondoSockets

/// The end of a child process, and the resources that it used.
public struct ChildExit: Hashable, Sendable, CustomStringConvertible {
  /// How the child ended.
  public let outcome: Outcome
  /// The resources of the child and its own children; nil if the outcome is unknown.
  public let usage: Usage?

  /// How a child ended.
  public enum Outcome: Hashable, Sendable {
    /// The child returned this code from main, or called exit(3) with it.
    case exited(CInt)
    /// This signal ended the child. `dumpedCore` is true if the kernel wrote its memory to a file.
    case killed(by: CInt, dumpedCore: Bool)
    /// Other code has reaped the child: a wait for all children, or SIGCHLD is ignored.
    case unknown
    /// The child runs, but the kernel refuses to watch it, with this errno. Reap it yourself with waitpid(2).
    case unwatched(errno: CInt)
  }

  /// The resources that a process used. See getrusage(2).
  public struct Usage: Hashable, Sendable {
    /// The processor time in the child's own code, and in the kernel on its behalf.
    public let userTime, systemTime: Duration
    /// The peak of its memory, in bytes.
    public let peakMemory: Int
    /// Page faults without and with input from a disk.
    public let minorFaults, majorFaults: Int
    /// How often the child waited, and how often the kernel preempted it.
    public let voluntarySwitches, involuntarySwitches: Int
  }

  /// Whether the child exited with code 0.
  public var isSuccess: Bool { outcome == .exited(0) }

  /// A sentence with the outcome.
  public var description: String {
    switch outcome {
    case .exited(let code): "exited with \(code)"
    case .killed(let signal, let dumpedCore): "killed by signal \(signal)\(dumpedCore ? ", memory dumped" : "")"
    case .unknown: "reaped by somebody else"
    case .unwatched(let errno): "running, and watched no longer: \(describe(epoll: errno))"
    }
  }

  init(outcome: Outcome, usage: Usage?) {
    self.outcome = outcome
    self.usage = usage
  }

  init(_ end: rondo_child_end) {
    outcome = end.was_killed == 0 ? .exited(end.status) : .killed(by: end.status, dumpedCore: end.was_killed == 2)
    usage = Usage(
      userTime: .microseconds(end.user_time), systemTime: .microseconds(end.system_time),
      peakMemory: Int(end.peak_memory) * 1024, minorFaults: Int(end.minor_faults), majorFaults: Int(end.major_faults),
      voluntarySwitches: Int(end.voluntary_switches), involuntarySwitches: Int(end.involuntary_switches))
  }
}

/// Why a child cannot be started, watched or signalled.
public enum ChildError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The executable does not exist.
  case notFound(String)
  /// The directory to begin in does not exist.
  case noDirectory(String)
  /// The executable exists, but its interpreter or dynamic loader does not.
  case noInterpreter(String)
  /// The caller lacks the permission to execute the file, or to signal the child.
  case notPermitted
  /// The process of that number is no child of this one, or was reaped.
  case notAChild(CInt)
  /// The child has been reaped. For a signal to its group: no process is in the group, or it leads none.
  case gone
  /// The task was cancelled. It has started no child, has ended its own, or leaves one that ran already alone.
  case cancelled
  /// The child printed more than `limit` bytes, and was ended.
  case tooLong(limit: Int)
  /// A pipe to the child failed, or the loop ended. The child got SIGTERM.
  case stream(ConnectionError)
  /// No signal has this number.
  case unknownSignal(CInt)
  /// A text for the child contains a zero byte, where it would end.
  case containsZero(String)
  /// No descriptor, or no process, is left: EMFILE, ENFILE, EAGAIN.
  case exhausted
  /// The kernel has no memory left.
  case noMemory
  /// Any other error: errno.
  case system(errno: CInt)

  /// A sentence with the cause.
  public var description: String {
    switch self {
    case .notFound(let name): "there is no '\(name)' to execute"
    case .noDirectory(let name): "there is no directory '\(name)' to begin in"
    case .noInterpreter(let name): "there is no interpreter (#!) or dynamic loader for '\(name)'"
    case .notPermitted: "not permitted"
    case .notAChild(let process): "process \(process) is no child of this one, or has been reaped"
    case .gone: "the child has been reaped, or no process is in a group of its own"
    case .cancelled: "the task was cancelled"
    case .tooLong(let limit): "the child printed more than \(limit) bytes"
    case .stream(let error): "a pipe to the child: \(error)"
    case .unknownSignal(let signal): "no signal has the number \(signal)"
    case .containsZero(let text): "'\(text)' contains a zero byte, where it would end for the child"
    case .exhausted: "no descriptor, or no process, is left"
    case .noMemory: "the kernel has no memory left for a child"
    case .system(let errno): "\(describe(errno: errno))"
    }
  }

  private init?(common errno: CInt) {
    switch errno {
    case EMFILE, ENFILE, EAGAIN: self = .exhausted
    case ENOMEM: self = .noMemory
    case EPERM, EACCES: self = .notPermitted
    default: return nil
    }
  }

  /// What pidfd_open(2) or waitid(2) meant.
  init(_ process: CInt, _ errno: CInt) {
    let isUnknown = errno == ESRCH || errno == ECHILD || errno == EINVAL
    self = isUnknown ? .notAChild(process) : ChildError(common: errno) ?? .system(errno: errno)
  }

  /// What pidfd_send_signal(2) meant.
  init(_ process: CInt, _ errno: CInt, signal: CInt) {
    let special: ChildError? = errno == ESRCH ? .gone : errno == EINVAL ? .unknownSignal(signal) : nil
    self = special ?? ChildError(common: errno) ?? .system(errno: errno)
  }

  /// What `rondo_spawn` meant.
  init(starting command: ChildSource.Command, _ errno: CInt) {
    switch errno {
    case ENOENT: self = .notFound(command.executable)
    case ENOTDIR: self = .noDirectory(command.directory ?? "")
    case ELIBACC: self = .noInterpreter(command.executable)
    default: self = ChildError(common: errno) ?? .system(errno: errno)
    }
  }
}

extension ChildError: CancellationReporting {
  package var reportsCancellation: Bool {
    if case .stream(let error) = self { error.reportsCancellation } else { self == .cancelled }
  }
}
