import Foundation

/// The report as one HTML file that needs nothing beside it.
struct Page {
  private let report: Report

  init(_ report: Report) {
    self.report = report
  }

  func write(to path: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
  }

  var text: String { "" }
}
