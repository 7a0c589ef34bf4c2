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

  /// Opens a loop on the calling thread whose callout hits `meter`. Called on the loop's own thread.
  func openParkedLoop(hitting meter: WakeMeter) throws(Refusal) -> any ParkedLoop

  /// Runs one repeating timer on the calling thread until the grid of `meter` is used up.
  func runTimer(hitting meter: TickMeter) throws(Refusal)
}

extension Subject {
  var absence: String? { nil }

  func openParkedLoop(hitting meter: WakeMeter) throws(Refusal) -> any ParkedLoop {
    throw .cannot("has no wakeup")
  }

  func runTimer(hitting meter: TickMeter) throws(Refusal) {
    throw .cannot("has no timers")
  }
}

/// A loop that sleeps until another thread wakes it to its callout.
protocol ParkedLoop: AnyObject, Sendable {
  /// Runs until the meter is full. Loop thread only.
  func run()

  /// Wakes the loop to its callout. From any thread.
  func wake()

  /// Gives back what the loop holds. Loop thread only, after `run`.
  func close()
}

/// Why a subject has no figure in a workload.
enum Refusal: Error {
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
