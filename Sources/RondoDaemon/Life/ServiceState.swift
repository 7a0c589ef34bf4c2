import CLinux

/// What a service manager is told: sd_notify(3).
enum ServiceState: Hashable {
  /// It has started, or has reloaded.
  case ready
  /// It begins to reload.
  case reloading
  case stopping
  case status(String)
  /// It lives.
  case watchdog

  /// The lines of a message.
  func lines(now nanoseconds: Int64) -> String {
    switch self {
    case .ready: "READY=1"
    // With the time the manager knows which of two reloads the next READY ends: Type=notify-reload.
    case .reloading: "RELOADING=1\nMONOTONIC_USEC=\(nanoseconds / 1000)"
    case .stopping: "STOPPING=1"
    // Another line would be another assignment.
    case .status(let text): "STATUS=" + String(text.map { $0.isNewline || $0 == "\0" ? " " : $0 })
    case .watchdog: "WATCHDOG=1"
    }
  }

  static func message(_ states: [ServiceState], now nanoseconds: Int64 = rondo_monotonic_now()) -> [UInt8] {
    Array(states.map { $0.lines(now: nanoseconds) }.joined(separator: "\n").utf8)
  }
}
