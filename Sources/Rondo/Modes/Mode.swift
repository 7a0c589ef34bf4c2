extension Loop {
  /// Names a set of items that are served only by runs in that mode.
  ///
  /// A mode comes into being when something is added to it, lasts as long as its loop, and is compared by value. A
  /// loop has room for 64. See CFRunLoopMode.
  public struct Mode: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    public let rawValue: String

    @inlinable
    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    public init(_ name: String) {
      self.rawValue = name
    }

    public init(stringLiteral name: String) {
      self.rawValue = name
    }

    public var description: String { rawValue }

    // Not constants, for which whoever names one would have to look whether it has been made, and to count a reference.

    /// The mode of ordinary work.
    @inlinable
    public static var `default`: Mode { Mode(rawValue: "kCFRunLoopDefaultMode") }
    /// Stands for every common mode: items and blocks may be put there. It cannot be run.
    @inlinable
    public static var common: Mode { Mode(rawValue: "kCFRunLoopCommonModes") }
    /// The mode for tracking a gesture or another short, exclusive activity. Common only after `addCommonMode`.
    public static let eventTracking = Mode(rawValue: "UITrackingRunLoopMode")
  }
}

extension Loop.Mode {
  /// What it is called for people: the default mode's name is CFRunLoop's.
  var text: String { self == .default ? "the default mode" : description }
}
