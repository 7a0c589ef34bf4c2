import CLinux
import Rondo

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
  /// It is stuck.
  case stuck
  /// The start or the stop may take this long from now on.
  case extended(Duration)
  /// Another process is the daemon.
  case mainProcess(CInt)
  /// The descriptor that comes with the message is to be kept, by this name.
  case stored(name: String)
  case removed(name: String)
  /// The descriptor that comes with the message is closed when all that came before was read.
  case barrier

  /// The most bytes of a status. systemd ignores a message of more than 4,096 bytes, whatever it says.
  private static let longest = 1_024

  /// The message, which says this and nothing else.
  func message(now nanoseconds: Int64 = rondo_monotonic_now()) -> [UInt8] { Array(text(now: nanoseconds).utf8) }

  private func text(now nanoseconds: Int64) -> String {
    switch self {
    case .ready: "READY=1"
    // With the time the manager knows which of two reloads the next READY ends: Type=notify-reload.
    case .reloading: "RELOADING=1\nMONOTONIC_USEC=\(nanoseconds / 1000)"
    case .stopping: "STOPPING=1"
    // Another line would be another assignment.
    case .status(let text): "STATUS=" + Self.line(text)
    case .watchdog: "WATCHDOG=1"
    case .stuck: "WATCHDOG=trigger"
    case .extended(let time): "EXTEND_TIMEOUT_USEC=\(max(0, time.saturatingNanoseconds / 1000))"
    case .mainProcess(let number): "MAINPID=\(number)"
    case .stored(let name): "FDSTORE=1\nFDNAME=\(name)"
    case .removed(let name): "FDSTOREREMOVE=1\nFDNAME=\(name)"
    case .barrier: "BARRIER=1"
    }
  }

  /// The beginning of a text, without its ends of lines, and with whole characters.
  private static func line(_ text: String) -> String {
    // No character has less than a byte.
    let line = text.prefix(longest).map { $0.isNewline || $0 == "\0" ? " " : $0 }
    var left = longest
    return String(
      line.prefix { character in
        left -= character.utf8.count
        return left >= 0
      })
  }
}
