/// An error that may say that its task was cancelled.
package protocol CancellationReporting: Error {
  /// Whether it does.
  var reportsCancellation: Bool { get }
}

extension Error {
  /// Whether it says that its task was cancelled.
  package var isCancellation: Bool {
    self is CancellationError || (self as? any CancellationReporting)?.reportsCancellation == true
  }
}

extension Loop.CallError: CancellationReporting {
  package var reportsCancellation: Bool {
    switch self {
    case .cancelled: true
    case .loopEnded: false
    case .body(let error): error.isCancellation
    }
  }
}

extension Loop.WaitError: CancellationReporting {
  package var reportsCancellation: Bool { self == .cancelled }
}
