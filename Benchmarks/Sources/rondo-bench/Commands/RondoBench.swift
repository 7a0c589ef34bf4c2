import ArgumentParser

/// The command line.
@main
struct RondoBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rondo-bench",
    abstract: "Compares run loops on Linux: the same work, side by side, in one run.",
    subcommands: [Run.self, List.self, Compare.self, Publish.self, Once.self],
    defaultSubcommand: Run.self
  )
}
