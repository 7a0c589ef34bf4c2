extension Loop {
  /// The moments of a turn that observers may see, with CFRunLoopActivity's raw values.
  public struct Activity: OptionSet, Hashable, Sendable, CustomStringConvertible {
    /// One bit for each moment.
    public let rawValue: UInt32

    /// Makes a set from its bits.
    public init(rawValue: UInt32) {
      self.rawValue = rawValue
    }

    /// A run begins.
    public static let entry = Activity(rawValue: 1)
    /// A turn begins.
    public static let beforeTimers = Activity(rawValue: 2)
    /// The loop is about to serve blocks and signalled sources.
    public static let beforeSources = Activity(rawValue: 4)
    /// The loop is about to sleep. A turn that only polls skips this moment.
    public static let beforeWaiting = Activity(rawValue: 32)
    /// The loop woke, and has served nothing yet.
    public static let afterWaiting = Activity(rawValue: 64)
    /// A run ends.
    public static let exit = Activity(rawValue: 128)
    /// Every activity, with CFRunLoop's value.
    public static let all = Activity(rawValue: 0x0FFF_FFFF)

    /// The names of the moments, separated by `|`.
    public var description: String {
      let names: [(Activity, String)] = [
        (.entry, "entry"), (.beforeTimers, "beforeTimers"), (.beforeSources, "beforeSources"),
        (.beforeWaiting, "beforeWaiting"), (.afterWaiting, "afterWaiting"), (.exit, "exit"),
      ]
      return names.filter { contains($0.0) }.map(\.1).joined(separator: "|")
    }
  }
}
