import Foundation

/// Says on standard error how far the run is: in one line on a terminal, and else in a line for every twentieth of it.
struct Progress {
  private let total: Int
  private var done = 0
  private let isTerminal = isatty(STDERR_FILENO) == 1
  /// The per cent from which on the next line is due, where there is no terminal.
  private var next = 0

  init(total: Int) {
    self.total = total
  }

  mutating func step(_ text: String, count: Int = 1) {
    let percent = total > 0 ? 100 * done / total : 100
    done += count
    if isTerminal {
      show("[\(percent) %] \(text)")
    } else if percent >= next {
      next = percent + 5
      FileHandle.standardError.write(Data("[\(percent) %] \(text)\n".utf8))
    }
  }

  /// Takes the line away again.
  func clear() { show("") }

  private func show(_ text: String) {
    guard isTerminal else { return }
    FileHandle.standardError.write(Data("\r\(text)\u{1B}[K".utf8))
  }
}
