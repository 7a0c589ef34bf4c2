import Synchronization

/// What an example prints, by line.
final class Output: Sendable {
  /// Of the task: for examples whose `print` cannot capture one.
  @TaskLocal static var current = Output()

  private let added = Mutex<[String]>([])

  func add(_ line: String) { added.withLock { $0.append(line) } }

  var lines: [String] { added.withLock { $0 } }

  var text: String { lines.joined(separator: ", ") }
}

/// Runs `body`, and gives back what it added to the task's output.
func printed(_ body: () throws -> Void) rethrows -> String {
  let own = Output()
  try Output.$current.withValue(own, operation: body)
  return own.lines.joined(separator: "\n")
}
