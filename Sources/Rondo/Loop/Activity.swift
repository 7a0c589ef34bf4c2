extension Loop {
  /// The moments of a turn that observers may see; CFRunLoopActivity's raw values.
  public struct Activity: OptionSet, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: UInt32

    public init(rawValue: UInt32) {
      self.rawValue = rawValue
    }

    /// A run begins.
    public static let entry = Activity(rawValue: 1)
    /// A turn begins.
    public static let beforeTimers = Activity(rawValue: 2)
    /// Blocks and signalled sources are about to be served.
    public static let beforeSources = Activity(rawValue: 4)
    /// The loop is about to sleep. Not told in a turn that only polls.
    public static let beforeWaiting = Activity(rawValue: 32)
    /// The loop woke up, and has not served anything yet.
    public static let afterWaiting = Activity(rawValue: 64)
    /// A run ends.
    public static let exit = Activity(rawValue: 128)
    /// Every activity, CF's value.
    public static let all = Activity(rawValue: 0x0FFF_FFFF)

    public var description: String {
      let names: [(Activity, String)] = [
        (.entry, "entry"), (.beforeTimers, "beforeTimers"), (.beforeSources, "beforeSources"),
        (.beforeWaiting, "beforeWaiting"), (.afterWaiting, "afterWaiting"), (.exit, "exit"),
      ]
      return names.filter { contains($0.0) }.map(\.1).joined(separator: "|")
    }
  }
}
