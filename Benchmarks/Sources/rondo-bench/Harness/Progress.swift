import Foundation

/// One line on the terminal that says how far the run is; silent when standard error is none.
struct Progress {
  private let total: Int
  private var done = 0
  private let isShown = isatty(STDERR_FILENO) == 1

  init(total: Int) {
    self.total = total
  }

  mutating func step(_ text: String, count: Int = 1) {
    let percent = total > 0 ? 100 * done / total : 100
    done += count
    show("[\(percent) %] \(text)")
  }

  /// Takes the line away again.
  func clear() { show("") }

  private func show(_ text: String) {
    guard isShown else { return }
    FileHandle.standardError.write(Data("\r\(text)\u{1B}[K".utf8))
  }
}
