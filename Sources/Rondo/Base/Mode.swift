extension Loop {
  /// The name of a set of items that only runs in that mode serve.
  ///
  /// A mode begins to exist in a loop when an item is added to it. Modes are equal if their names are. A loop has room
  /// for 64; if it needs one more, it forgets those that have nothing. See CFRunLoopMode.
  public struct Mode: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The name.
    public let rawValue: String

    /// Makes a mode from its name.
    @inlinable
    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// Makes a mode from its name.
    public init(_ name: String) {
      self.rawValue = name
    }

    /// Makes a mode from a string literal.
    public init(stringLiteral name: String) {
      self.rawValue = name
    }

    /// The name.
    public var description: String { rawValue }

    // Not constants: each use of a constant would check whether it has been made, and count a reference.

    /// The mode of ordinary work.
    @inlinable
    public static var `default`: Mode { Mode(rawValue: "kCFRunLoopDefaultMode") }
    /// All common modes: items and blocks may be added to it. It cannot be run.
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
