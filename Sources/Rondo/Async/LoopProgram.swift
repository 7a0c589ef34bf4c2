/// A program whose work is one async function, `run()`. `@main` runs it on `Loop.main`.
///
/// `@main struct App: LoopProgram { static func run() async throws { … } }` gets a `main()` that calls
/// `Loop.runMain(_:)`. The main actor stays on the main thread. `Loop.main.stop()` cancels `run()` and waits for it.
public protocol LoopProgram: SendableMetatype {
  /// The program's work, on the main actor. The process exits with 0 when it returns, and as Swift's when it throws.
  @MainActor static func run() async throws
}

extension LoopProgram {
  /// Runs the main thread's loop until `run()` has returned.
  @available(*, noasync, message: "It runs the main thread's loop. '@main' calls it.")
  public static func main() throws {
    try Loop.runMain { try await run() }
  }
}
