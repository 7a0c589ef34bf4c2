/// A program whose async `run()` is all it does. `@main` gives it a `main()` that runs `Loop.main` meanwhile.
///
/// `@main struct App: LoopProgram { static func run() async throws { … } }`. See `Loop.runMain(_:)`, which it calls: the
/// main actor stays on the main thread, `Loop.main.stop()` cancels `run()` and waits for it.
public protocol LoopProgram: SendableMetatype {
  /// What the program does, on the main actor. The process exits with 0 when it returns, and as Swift's when it throws.
  @MainActor static func run() async throws
}

extension LoopProgram {
  /// Runs the main thread's loop until `run()` has returned.
  @available(*, noasync, message: "It runs the main thread's loop. '@main' calls it.")
  public static func main() throws {
    try Loop.runMain { try await run() }
  }
}
