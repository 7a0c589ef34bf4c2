#if ServiceLifecycle
  public import Rondo
  public import RondoDaemon
  public import ServiceLifecycle

  /// A daemon on a thread of its own, as a service of swift-service-lifecycle's.
  ///
  /// The group's graceful shutdown is `Daemon.stop()`: the stop handlers are called, and work under way is
  /// waited for. Its cancellation ends the run at once. A daemon that stops by itself ends the service, and the group does
  /// then what its configuration says.
  ///
  /// ```swift
  /// let service = DaemonService(name: "echo") { loop in
  ///   let daemon = try Daemon(on: loop, drainingFor: .seconds(10), claimsSignals: false)
  ///   daemon.whenStopping { print("stop listening") }
  ///   return daemon
  /// }
  /// ```
  ///
  /// Signals are for one of the two: either the group has `gracefulShutdownSignals`, and the daemon is made with
  /// `claimsSignals: false`; or the group has none, and is told to shut down when the daemon has ended.
  public struct DaemonService: Service, CustomStringConvertible {
    /// The name of its thread.
    public let name: String
    private let make: @Sendable (Loop) throws -> Daemon

    /// A service whose daemon is made when it is started, on the daemon's own thread.
    ///
    /// - Parameter make: Makes the daemon on that loop, and puts into the loop what it serves.
    public init(name: String = "daemon", _ make: @escaping @Sendable (Loop) throws -> Daemon) {
      self.name = name
      self.make = make
    }

    public var description: String { name }

    /// Makes the daemon, and runs it until it has ended. Its thread ends as well.
    ///
    /// - Throws: What making it threw; `LoopThread.StartError`; ``DaemonServiceError``, if it lost work;
    ///   `CancellationError`, if it was cancelled.
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

  /// How a daemon ended that did not end well.
  public enum DaemonServiceError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Its time was over, and this many pieces of work were not.
    case timedOut(left: Int)
    /// A second signal came.
    case interrupted(by: CInt)

    public var description: String {
      switch self {
      case .timedOut(let left): "\(left) pieces of work were not done in time"
      case .interrupted(let signal): "a second signal came: \(signal)"
      }
    }
  }
#endif
