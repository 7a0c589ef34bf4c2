import CRondoDaemon
import Glibc

/// What systemd says in the environment. Pure, but for `own`.
package enum ServiceEnvironment {
  /// The process's own, as far as it matters here.
  package static var own: [String: String] {
    let names = [
      "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES",
      "RONDO_PREDECESSOR",
    ]
    var found: [String: String] = [:]
    for name in names {
      if let value = unsafe getenv(name) { found[name] = unsafe String(cString: value) }
    }
    // These name a file and what is written into it: a user who starts a program with more rights than theirs has no
    // say in that. As libsystemd does.
    for name in ["MEMORY_PRESSURE_WATCH", "MEMORY_PRESSURE_WRITE"] {
      if let value = unsafe rondo_service_environment(name) { found[name] = unsafe String(cString: value) }
    }
    return found
  }

  /// How often the process is to tell that it lives; nil for never. See sd_watchdog_enabled(3).
  package static func watchdogPeriod(
    in environment: [String: String], for process: CInt
  ) throws(DaemonError) -> Duration? {
    guard let text = environment["WATCHDOG_USEC"], try isMeant("WATCHDOG_PID", environment, process) else { return nil }
    guard let microseconds = Int64(text), microseconds > 0 else {
      throw .malformed(variable: "WATCHDOG_USEC", value: text)
    }
    return .microseconds(microseconds)
  }

  /// Whether a variable that names a process names this one; a missing one names every process.
  package static func isMeant(
    _ variable: String, _ environment: [String: String], _ process: CInt
  ) throws(DaemonError) -> Bool {
    guard let text = environment[variable] else { return true }
    guard let number = CInt(text), number > 0 else { throw .malformed(variable: variable, value: text) }
    return number == process
  }

  /// The descriptor by which a predecessor is told that its successor is ready; nil without one.
  package static func predecessor(
    in environment: [String: String], for process: CInt
  ) throws(DaemonError) -> CInt? {
    guard let text = environment["RONDO_PREDECESSOR"], environment["LISTEN_PID"] != nil,
      try isMeant("LISTEN_PID", environment, process)
    else { return nil }
    guard let number = CInt(text), number >= ActivatedDescriptor.first else {
      throw .malformed(variable: "RONDO_PREDECESSOR", value: text)
    }
    return number
  }

  /// The descriptors that were passed on, from number 3 on, with their names. See sd_listen_fds_with_names(3).
  ///
  /// Without LISTEN_PID none were: the variables are another process's, inherited.
  ///
  /// - Parameter limit: How many descriptors a process may have.
  package static func descriptors(
    in environment: [String: String], for process: CInt, limit: Int
  ) throws(DaemonError) -> [ActivatedDescriptor] {
    guard let text = environment["LISTEN_FDS"], environment["LISTEN_PID"] != nil,
      try isMeant("LISTEN_PID", environment, process)
    else { return [] }
    guard let count = Int(text), count >= 0 else { throw .malformed(variable: "LISTEN_FDS", value: text) }
    guard count <= limit - ActivatedDescriptor.first else { throw .tooManyDescriptors(count) }
    var names: [String] = []
    if let list = environment["LISTEN_FDNAMES"], !list.isEmpty {
      names = list.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
      guard names.count <= count else { throw .malformed(variable: "LISTEN_FDNAMES", value: list) }
    }
    return (0..<count).map { index in
      let name = index < names.count ? names[index] : ActivatedDescriptor.unnamed
      return ActivatedDescriptor(descriptor: CInt(ActivatedDescriptor.first + index), name: name)
    }
  }
}
