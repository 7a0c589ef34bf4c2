#if ServiceLifecycle
  public import Rondo
  public import RondoDaemon
  public import ServiceLifecycle

  /// A daemon on its own thread, as a service of swift-service-lifecycle.
  ///
  /// The group's graceful shutdown calls `Daemon.stop()`: the daemon calls its stop handlers and waits for work under
  /// way. A cancellation ends the run immediately. A daemon that stops by itself ends the service, and the group acts
  /// as you configured it.
  ///
  /// ```swift
  /// let service = DaemonService(name: "echo") { loop in
  ///   let daemon = try Daemon(on: loop, grace: .seconds(10), claimsSignals: false)
  ///   daemon.whenStopping { print("stop listening") }
  ///   return daemon
  /// }
  /// ```
  ///
  /// Let either the group or the daemon handle signals. If the group has `gracefulShutdownSignals`, make the daemon
  /// with `claimsSignals: false`. If not, configure the group to shut down when the service has ended.
  public struct DaemonService: Service, CustomStringConvertible {
    /// The name of its thread.
    public let name: String
    private let make: @Sendable (Loop) throws -> Daemon

    /// Makes a service that makes its daemon when it starts.
    ///
    /// - Parameter make: Called on the daemon's thread. It makes the daemon on the loop, and adds the items that it
    ///   serves.
    public init(name: String = "daemon", _ make: @escaping @Sendable (Loop) throws -> Daemon) {
      self.name = name
      self.make = make
    }

    /// The service's name.
    public var description: String { name }

    /// Runs the daemon on a new thread, and returns when both have ended.
    ///
    /// - Throws: The error of the closure that makes the daemon; `LoopThread.StartError`; ``DaemonServiceError`` if
    ///   work may be lost; `CancellationError` if the task was cancelled.
    public func run() async throws {
      let thread = try LoopThread(name: name)
      do {
        let outcome = try await run(on: thread)
        await thread.end()
        try Task.checkCancellation()
        switch outcome {
        case .drained, .stopped: return
        case .timedOut(let left): throw DaemonServiceError.timedOut(left: left)
        case .interrupted(let signal): throw DaemonServiceError.interrupted(by: signal)
        }
      } catch {
        await thread.end()
        throw error
      }
    }

    private func run(on thread: LoopThread) async throws -> Daemon.Outcome {
      let loop = thread.loop
      let make = make
      let made = try await thread.async { Result { try make(loop) } }
      let daemon = try made.get()
      return try await withTaskCancellationHandler {
        try await withGracefulShutdownHandler {
          try await thread.async { daemon.run() }
        } onGracefulShutdown: {
          daemon.stop()
        }
      } onCancel: {
        daemon.endAtOnce()
      }
    }
  }

  /// The reason why a daemon ended before its work.
  public enum DaemonServiceError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The grace passed, and this many pieces of work had not ended.
    case timedOut(left: Int)
    /// A second signal came.
    case interrupted(by: CInt)

    /// A sentence with the cause.
    public var description: String {
      switch self {
      case .timedOut(let left): "\(left) pieces of work were not done in time"
      case .interrupted(let signal): "a second signal came: \(signal)"
      }
    }
  }
#endif
