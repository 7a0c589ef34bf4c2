/// How long tasks have waited for something scarce: pressure stall information. See the kernel's psi.rst, proc(5).
public struct Pressure: Hashable, Sendable {
  /// Times in which one task at least waited.
  public let some: Share
  /// Times in which all waited, so that no work was done. Nil where the kernel does not tell.
  public let full: Share?

  /// Which part of the time went by in waiting.
  public struct Share: Hashable, Sendable {
    /// In the last 10, 60 and 300 seconds, from 0 to 100 percent.
    public let last10, last60, last300: Double
    /// All of it since the machine was started, or the group made.
    public let total: Duration
  }

  /// Which times count.
  public enum Kind: String, Hashable, Sendable {
    /// One task at least waits.
    case some
    /// All wait, so that no work is done.
    case full
  }

  /// What there can be too little of.
  public enum Resource: String, Hashable, Sendable {
    case memory
    /// Processors.
    case cpu
    /// Input and output of block devices.
    case io
  }

  /// Reads what the kernel writes: a line for each kind. Nil for anything else; what later kernels add is passed over.
  init?(_ text: String) {
    var shares: [Kind: Share] = [:]
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ")
      guard let name = words.first else { continue }
      guard let kind = Kind(rawValue: String(name)) else { continue }
      guard let share = Share(words.dropFirst()), shares.updateValue(share, forKey: kind) == nil else { return nil }
    }
    guard let some = shares[.some] else { return nil }
    self.some = some
    full = shares[.full]
  }
}

extension Pressure.Share {
  /// `avg10=0.00 avg60=0.00 avg300=0.00 total=0`, the total in microseconds.
  fileprivate init?(_ words: ArraySlice<Substring>) {
    var numbers: [Substring: Substring] = [:]
    for word in words {
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, numbers.updateValue(parts[1], forKey: parts[0]) == nil else { return nil }
    }
    let percents = ["avg10", "avg60", "avg300"].compactMap { numbers[$0].flatMap { Double($0) } }
    guard percents.count == 3, percents.allSatisfy({ $0 >= 0 && $0 <= 100 }),
      let total = numbers["total"].flatMap({ Int64($0) }), total >= 0
    else { return nil }
    (last10, last60, last300) = (percents[0], percents[1], percents[2])
    self.total = .microseconds(total)
  }
}
