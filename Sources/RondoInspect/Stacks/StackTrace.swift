import Rondo

/// The addresses of a stack, and their symbols once a caller has asked for them.
final class StackTrace: Sendable {
  private let steps: [StackWalk.Step]
  private let known = Guarded<[StackFrame]?>(nil)

  init(_ steps: [StackWalk.Step]) {
    self.steps = steps
  }

  /// Whether the thread could not be sampled. No symbol is looked up.
  var isEmpty: Bool { steps.isEmpty }

  var addresses: [UInt64] { steps.map(\.address) }

  /// Looks the symbols up at the first call, for as long as that takes.
  var frames: [StackFrame] {
    known.withLock { known in
      if let known { return known }
      let found = Symbolicator.frames(of: steps)
      known = found
      return found
    }
  }
}
