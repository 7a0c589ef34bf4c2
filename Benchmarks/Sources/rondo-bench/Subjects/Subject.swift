/// A run loop under measurement.
///
/// Every ability has a default that declines, so a subject states only what it can do. A workload asks for the ability
/// it measures, and what it is refused is printed in its place: no subject is skipped in silence.
protocol Subject: Sendable {
  /// What the command line and the reports call it.
  var name: String { get }

  /// What is measured, in a few words.
  var summary: String { get }

  /// Why it cannot be measured in this build or on this machine; nil when it can.
  var absence: String? { get }

  /// The version of the library behind it; nil when it is the kernel's, the toolchain's or our own.
  var version: String? { get }

  /// Whether it polls instead of sleeping: a count of its calls would be one of time.
  var spins: Bool { get }

  /// Opens a loop on the calling thread. `posts`: other threads will post blocks to it.
  func openLoop(posts: Bool) throws(Refusal) -> any BenchLoop

  /// Runs one repeating timer on the calling thread until the grid of `meter` is used up.
  func runTimer(hitting meter: TickMeter) throws(Refusal)

  /// Actors and tasks on the subject's executors, which last as long as the process.
  func openActors() throws(Refusal) -> ActorHost
}

extension Subject {
  var absence: String? { nil }
  var version: String? { nil }
  var spins: Bool { false }

  func openLoop(posts: Bool) throws(Refusal) -> any BenchLoop {
    throw .cannot("is no loop")
  }

  func runTimer(hitting meter: TickMeter) throws(Refusal) {
    throw .cannot("has no timers")
  }

  func openActors() throws(Refusal) -> ActorHost {
    throw .cannot("is no executor")
  }
}

/// Why a subject has no figure in a workload.
enum Refusal: Error, Codable, Equatable {
  /// Not in this build or on this machine.
  case absent(String)
  /// The subject has no such thing.
  case cannot(String)
  /// It ran, and what it did is not what the workload asked for.
  case failed(String)

  var note: String {
    switch self {
    case .absent(let reason): "absent: \(reason)"
    case .cannot(let reason): "cannot: \(reason)"
    case .failed(let reason): "FAILED: \(reason)"
    }
  }

  var isFailure: Bool {
    if case .failed = self { true } else { false }
  }
}
