internal import Glibc

/// A program that code of a simulated host has started. *the thread of the simulation*
///
/// The test says what the child does.
public final class SimulatedChild: @unchecked Sendable {
  // Unchecked: all of it belongs to the thread of the simulation.

  /// The child's number (PID).
  public let process: CInt
  /// The file that was to be executed, as it was given.
  public let executable: String
  /// The arguments after the program's name.
  public let arguments: [String]
  /// Called with a signal that the host's code sends, SIGKILL excepted.
  ///
  /// Nil at first: any signal ends the child.
  public var onSignal: ((CInt) -> Void)?

  var end: (wasKilled: Bool, status: CInt)?
  var wasReaped = false
  var watchers: [ChildEndpoint] = []

  init(_ process: CInt, _ executable: String, _ arguments: [String]) {
    (self.process, self.executable, self.arguments) = (process, executable, arguments)
  }

  /// Whether the child has ended.
  package var hasEnded: Bool { end != nil }

  /// Ends the child with an exit code. Does nothing if it has ended.
  public func exit(_ code: CInt = 0) { finish((false, code)) }

  /// Ends the child by a signal. Does nothing if it has ended.
  public func kill(by signal: CInt) { finish((true, signal)) }

  func receive(_ signal: CInt) {
    if signal == 0 { return }
    if signal != SIGKILL, let onSignal { onSignal(signal) } else { kill(by: signal) }
  }

  private func finish(_ end: (Bool, CInt)) {
    if self.end != nil { return }
    self.end = end
    for watcher in watchers { watcher.hasChanged() }
  }
}
