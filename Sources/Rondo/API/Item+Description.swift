import Synchronization

extension Loop.Item: CustomStringConvertible {
  /// The item's kind, the place where it was made, and its modes. Any thread.
  ///
  /// The text is a snapshot. It may change between versions. See CFCopyDescription.
  public var description: String {
    "\(kindText) \(name), \(isValid ? whereabouts : "invalid")"
  }

  private var kindText: String {
    switch self {
    case let timer as Loop.Timer: timer.interval == .zero ? "timer" : "timer, every \(timer.interval),"
    case let source as Loop.DescriptorSource: "source of descriptor \(source.descriptor)"
    case is Loop.Observer: "observer"
    default: "source"
    }
  }

  private var whereabouts: String {
    // A source may be in several loops, and knows none of them as its own.
    if self is Loop.Source { return "valid" }
    guard let loop else { return "in no loop" }
    let names = loop.names(of: modes.load(ordering: .relaxed)).map(\.text)
    return "in \(names.joined(separator: " and ")) of \(loop.summary)"
  }
}
