import CRondoDaemon
import Glibc
import Rondo
import RondoSockets

extension Daemon {
  /// Has a signal replace this process by a successor, without a refused client. Any thread.
  ///
  /// The successor is the program as its file is then, with the environment and streams of this process. It gets the
  /// sockets of ``listener(_:at:backlog:options:)`` and ``socket(_:at:or:)`` as systemd passes them. When its daemon
  /// is ready, this one stops as by ``stop()``, and leaves the queues of its listeners to it. systemd is told of the new
  /// main process.
  ///
  /// If the successor ends before, or is not ready in time, it is ended, and this daemon goes on: stderr and the status
  /// name the cause. The signal does nothing before ``ready()``, during a stop, and while a successor starts. Process 1
  /// of a container has no successor, because the container ends with it.
  ///
  /// - Parameters:
  ///   - signal: Nil is SIGUSR2, as nginx has it.
  ///   - program: A name without a slash is searched in PATH. Nil is the name that this process was started by.
  ///   - arguments: Those after the name; nil for this process's own.
  ///   - timeout: The longest time until it is ready.
  /// - Throws: As `SignalSource`.
  public func allowSuccessor(
    on signal: CInt? = nil, program: String? = nil, arguments: [String]? = nil, timeout: Duration = .seconds(60)
  ) throws(SignalError) {
    let signal = signal ?? SIGUSR2
    let words = [program ?? CommandLine.arguments[0]] + (arguments ?? Array(CommandLine.arguments.dropFirst()))
    let source = try SignalSource(signal) { [weak self] _, _ in self?.beginSuccession(words, timeout) }
    claim(source, named: "successor")
    loop.perform(in: .common) { rondo_signal_unblock(signal) }
  }

  /// The loop's thread.
  private func beginSuccession(_ words: [String], _ timeout: Duration) {
    guard succession == nil, !isStopping else { return }
    do throws(SuccessionError) {
      if !isReady { throw .notReady }
      if getpid() == 1 { throw .isFirstProcess }
      let begun = try Succession(of: self, words)
      succession = begun
      begun.begin(on: loop, timeout: timeout)
    } catch {
      successionFailed(error)
    }
  }

  /// The loop's thread.
  func successionFailed(_ error: SuccessionError) {
    warn("no successor takes over: \(error).")
    tell(.status("No successor takes over: \(error)"))
  }

  /// The successor is ready, and systemd knows. The loop's thread.
  func handOver() {
    manager?.retire()
    for listener in sockets.withLock({ $0.open.compactMap(\.listener) }) { listener.handOver() }
    stop()
  }
}
