/// How long tasks have waited for a resource. See the kernel's psi.rst, proc(5).
public struct Pressure: Hashable, Sendable {
  /// The times in which at least one task waited.
  public let some: Share
  /// The times in which all tasks waited. Nil if the kernel does not report them.
  public let full: Share?

  /// The part of the time that tasks spent waiting.
  public struct Share: Hashable, Sendable {
    /// In the last 10, 60 and 300 seconds, from 0 to 100 percent.
    public let last10, last60, last300: Double
    /// The whole time since the machine started, or since the group was made.
    public let total: Duration
  }

  /// The times that count.
  public enum Kind: String, Hashable, Sendable {
    /// Times in which at least one task waits.
    case some
    /// Times in which all tasks wait, so that no work is done.
    case full
  }

  /// A resource that can be scarce.
  public enum Resource: String, Hashable, Sendable {
    /// Memory, which tasks wait for while pages are reclaimed.
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
